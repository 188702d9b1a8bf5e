// Package version tells which build of the operator is running.
//
// The values are stamped at link time (see the Makefile); a build without them calls itself unknown.
package version

import (
	"runtime"

	"k8s.io/apimachinery/pkg/version"
)

// Stamped with -ldflags -X; read them through Get.
var (
	gitVersion   = "unknown"
	gitCommit    = "unknown"
	gitTreeState = ""
	buildDate    = ""
)

// Get returns the stamp and the toolchain in the form that library-go exports as the metric build_info.
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
