package operator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"time"

	"github.com/openshift/library-go/pkg/config/client"
	"github.com/openshift/library-go/pkg/config/clusterstatus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

// maxFile exceeds the size of any file that the operator reads.
const maxFile = 16 << 20

// useAPIServerURL makes in-cluster clients use the API server's URL that the node's own components use, because the
// service network may depend on the cloud-controller-manager. Without the file it changes nothing.
//
// The file has lines such as KUBERNETES_SERVICE_HOST='api-int.example.com'. Other lines are ignored.
func useAPIServerURL(file string) error {
	data, err := regularfile.Read(file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the API server's URL: %w", err)
	}
	for _, name := range []string{"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		// A value may have single, double or no quotes. The last line wins, as in a shell.
		line := regexp.MustCompile(`(?m)^\s*` + name + `\s*=\s*["']?([^"'\s]*)["']?\s*$`)
		value := ""
		for _, found := range line.FindAllSubmatch(data, -1) {
			value = string(found[1])
		}
		if value == "" {
			return fmt.Errorf("%s does not set %s; check the machine-config-operator, which writes the file", file, name)
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	return nil
}

// awaitAPIServer waits for the API server, as library-go does for leader election: the operator's own server reads the
// client CAs when it starts, and without them the process would exit.
func awaitAPIServer(ctx context.Context, kubeconfig string, limit time.Duration) error {
	if kubeconfig != "" {
		// clientcmd never returns if the file is a pipe.
		if _, err := regularfile.Read(kubeconfig, maxFile); err != nil {
			return fmt.Errorf("reading --kubeconfig: %w", err)
		}
	}
	config, err := client.GetKubeConfigOrInClusterConfig(kubeconfig, nil)
	if err != nil {
		return fmt.Errorf("reading the credentials: %w", err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, time.Second, limit, true, func(ctx context.Context) (bool, error) {
		_, last = clusterstatus.GetClusterInfraStatus(ctx, config)
		return last == nil || apierrors.IsNotFound(last), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the API server %s: %w", config.Host, last)
	}
	return nil
}
