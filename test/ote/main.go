// Command ote is this operator's extension of openshift-tests (openshift/enhancements,
// testing/openshift-tests-extension.md). The name of the program selects the tests.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/ote/internal/extension"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/ote/internal/suite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := extension.NewCommand(suite.Extension(filepath.Base(os.Args[0]))).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
