package cloudconfig

// External checks and rewrites the configuration of external.
func External(src Source) Result {
	var fs findings
	return fs.finish(Result{Config: src.Config, Credentials: src.Credentials})
}
