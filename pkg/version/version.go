// Package version contains the version of the running build.
//
// The values are set at link time (see the Makefile). Without that, the version is unknown.
package version

import (
	"runtime"

	"k8s.io/apimachinery/pkg/version"
)

// Set with -ldflags -X; read them through Get.
var (
	gitVersion   = "unknown"
	gitCommit    = "unknown"
	gitTreeState = ""
	buildDate    = ""
)

// Get returns the version and the toolchain in the format of library-go's metric build_info.
func Get() version.Info {
	return version.Info{
		GitVersion:   gitVersion,
		GitCommit:    gitCommit,
		GitTreeState: gitTreeState,
		BuildDate:    buildDate,
		GoVersion:    runtime.Version(),
		Compiler:     runtime.Compiler,
		Platform:     runtime.GOOS + "/" + runtime.GOARCH,
	}
}
