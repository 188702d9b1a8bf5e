package cloudconfig

// AlibabaCloud checks and rewrites the configuration of alibabacloud.
func AlibabaCloud(src Source) Result {
	var fs findings
	return fs.finish(Result{Config: src.Config, Credentials: src.Credentials})
}
