package cloudconfig

// GCP checks and rewrites the configuration of gcp.
func GCP(src Source) Result {
	var fs findings
	return fs.finish(Result{Config: src.Config, Credentials: src.Credentials})
}
