package cloudconfig

// Azure checks and rewrites the configuration of azure.
func Azure(src Source) Result {
	var fs findings
	return fs.finish(Result{Config: src.Config, Credentials: src.Credentials})
}

// AzureStack checks and rewrites the configuration of azurestack.
func AzureStack(src Source) Result {
	var fs findings
	return fs.finish(Result{Config: src.Config, Credentials: src.Credentials})
}
