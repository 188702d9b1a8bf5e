package cloudconfig

// DigitalOcean checks and rewrites the configuration of digitalocean.
func DigitalOcean(src Source) Result {
	var fs findings
	return fs.finish(Result{Config: src.Config, Credentials: src.Credentials})
}
