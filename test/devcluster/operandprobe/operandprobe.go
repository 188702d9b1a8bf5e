// Package operandprobe asks the cloud-controller-managers of a development cluster themselves what they do: mirror pods
// and the lease lag behind the processes.
package operandprobe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	namespace = "openshift-cloud-controller-manager"
	port      = "10258"
	// counter begins the lines of /metrics about controllers, and leading is that of a process whose controllers run,
	// which are those of the leader.
	counter = "running_managed_controllers{"
	leading = counter + `manager="cloud-controller-manager",name="cloud-node"} 1`
	// controllers begins the lines of a controller of the leader. Azure's cloud-controller-manager, which has its own
	// copy of the start, does not count its controllers.
	controllers = "\nservice_controller_"
	// startTime begins the line with when the process started, of Prometheus' process collector.
	startTime = "\nprocess_start_time_seconds "
	// timeout limits a request to a process that may be frozen.
	timeout = 2 * time.Second
)

// Client returns a client for the operand's port on every node. It trusts the CA that the operator publishes, and has
// the credentials of config.
func Client(ctx context.Context, kube kubernetes.Interface, config *rest.Config) (*http.Client, error) {
	published, err := kube.CoreV1().ConfigMaps(namespace).Get(ctx, "serving-ca", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.CAData, config.CAFile = []byte(published.Data["ca-bundle.crt"]), ""
	config.ServerName = "cloud-controller-manager." + namespace + ".svc"
	config.Timeout = timeout
	return rest.HTTPClientFor(config)
}

// Leads reports whether the controllers of the process on the node with this address run. An error means that it does
// not serve.
func Leads(ctx context.Context, client *http.Client, ip string) (bool, error) {
	leads, _, err := Leader(ctx, client, ip)
	return leads, err
}

// Leader is Leads. It also returns when the process started, which differs from that of the node's next process.
func Leader(ctx context.Context, client *http.Client, ip string) (leads bool, started string, err error) {
	metrics, err := Get(ctx, client, "https://"+ip+":"+port+"/metrics")
	_, after, _ := strings.Cut(metrics, startTime)
	started, _, _ = strings.Cut(after, "\n")
	if strings.Contains(metrics, counter) {
		return strings.Contains(metrics, leading), started, err
	}
	return strings.Contains(metrics, controllers), started, err
}

// Get returns what a server answers. An answer other than 200 is an error.
func Get(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
	return string(body), nil
}
