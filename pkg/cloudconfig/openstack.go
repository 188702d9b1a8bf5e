package cloudconfig

// OpenStack checks and rewrites an OpenStack cloud.conf, and checks the clouds.yaml and the CA bundle that it is used
// with.
func OpenStack(src Source) Result {
	var fs findings
	fs.add(Finding{Input: ConfigInput, Kind: Invalid, Message: "the OpenStack reader is not built in"})
	return fs.finish(src.Config)
}
