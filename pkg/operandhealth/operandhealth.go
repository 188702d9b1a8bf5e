// Package operandhealth asks a cloud-controller-manager (CCM) which controllers it has started.
package operandhealth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	// timeout limits a request: the process may be frozen.
	timeout = 2 * time.Second

	// maxAnswer is the maximum number of bytes that are read.
	maxAnswer = 64 << 10

	// maxControllers and maxName limit what is believed: messages have these names, and so has the record of a proof.
	maxControllers = 50
	maxName        = 63
)

// Dial is the type of net.Dialer.DialContext.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// others are the checks that are not controllers. A standby has them too.
var others = []string{"leaderElection", "ping", "log"}

// Controllers returns the controllers that the CCM of a static pod has started. There are none if the CCM does not
// lead, or if one of its start functions has not returned: k8s.io/cloud-provider adds their health checks after all
// have returned (app/controllermanager.go). /healthz needs no credentials. The certificate is verified with the CA
// bundle. dial is nil except in tests.
func Controllers(ctx context.Context, pod *corev1.Pod, bundle []byte, dial Dial) ([]string, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("no CA of the serving certificate of pod/%s", pod.Name)
	}
	if pod.Status.HostIP == "" { // Without a host, the address is that of the operator's own.
		return nil, fmt.Errorf("pod/%s has no address yet", pod.Name)
	}
	address := net.JoinHostPort(pod.Status.HostIP, strconv.Itoa(int(controlplane.Port(pod))))
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial,
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: operand.ServingName, MinVersion: tls.VersionTLS12}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/healthz?verbose", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("asking pod/%s for its health: %w", pod.Name, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking pod/%s for its health: %w", pod.Name, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("asking pod/%s for its health: %w", pod.Name, err)
	}
	return controllers(string(body)), nil
}

// controllers returns the names of the checks that are controllers, in their order.
func controllers(health string) []string {
	var found []string
	for line := range strings.Lines(health) {
		check, isCheck := strings.CutPrefix(line, "[+]")
		if !isCheck {
			check, isCheck = strings.CutPrefix(line, "[-]")
		}
		name, _, _ := strings.Cut(check, " ")
		if isCheck && !slices.Contains(others, name) && len(name) <= maxName {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found[:min(len(found), maxControllers)]
}
