package nodeinitialization

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	// logInterval is how long after a read the log is read again while nodes wait.
	logInterval = 30 * time.Second

	// logTimeout limits a read: the API server asks a kubelet, which may hang.
	logTimeout = 5 * time.Second

	// logLines and logBytes limit what is read. An attempt to initialize a node logs three lines.
	logLines = 600
	logBytes = 256 << 10
)

// ReadLog returns the end of the log of the operand's container in the pod, and whether that is all that its process
// logged. The last line may be cut. A time would not help to select lines: the node's clock may be wrong.
func ReadLog(ctx context.Context, pods corev1client.PodsGetter, pod string) (log string, complete bool, err error) {
	log, err = read(ctx, pods, pod, ptr.To[int64](logLines))
	return log, err == nil && len(log) < logBytes && strings.Count(log, "\n") < logLines, err
}

// readBegin returns the begin of the log.
func readBegin(ctx context.Context, pods corev1client.PodsGetter, pod string) (string, error) {
	return read(ctx, pods, pod, nil)
}

// read returns the last lines of the log, or with nil its first ones.
func read(ctx context.Context, pods corev1client.PodsGetter, pod string, lines *int64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	stream, err := pods.Pods(operand.Namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container:  operand.Name,
		TailLines:  lines,
		LimitBytes: ptr.To[int64](logBytes),
	}).Stream(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of pod/%s in %s: %w", pod, operand.Namespace, err)
	}
	defer func() { _ = stream.Close() }()
	content, err := io.ReadAll(io.LimitReader(stream, logBytes))
	if err != nil {
		return "", fmt.Errorf("reading the log of pod/%s in %s: %w", pod, operand.Namespace, err)
	}
	return string(content), nil
}
