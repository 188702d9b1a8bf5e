package cloudconfig

// AWS checks and rewrites the configuration of aws.
func AWS(src Source) Result {
	var fs findings
	return fs.finish(Result{Config: src.Config, Credentials: src.Credentials})
}
