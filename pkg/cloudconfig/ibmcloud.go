package cloudconfig

// IBMCloud checks and rewrites the configuration of ibmcloud.
func IBMCloud(src Source) Result {
	var fs findings
	return fs.finish(Result{Config: src.Config, Credentials: src.Credentials})
}

// PowerVS checks and rewrites the configuration of powervs.
func PowerVS(src Source) Result {
	var fs findings
	return fs.finish(Result{Config: src.Config, Credentials: src.Credentials})
}
