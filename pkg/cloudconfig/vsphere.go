package cloudconfig

// VSphere checks and rewrites the configuration of vsphere.
func VSphere(src Source) Result {
	var fs findings
	return fs.finish(Result{Config: src.Config, Credentials: src.Credentials})
}
