package cloudconfig

// Nutanix checks and rewrites the configuration of nutanix.
func Nutanix(src Source) Result {
	var fs findings
	return fs.finish(Result{Config: src.Config, Credentials: src.Credentials})
}
