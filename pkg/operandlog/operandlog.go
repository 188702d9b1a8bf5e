// Package operandlog reads what a cloud-controller-manager logged.
package operandlog

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
	// timeout limits a read: the API server asks a kubelet, which may hang.
	timeout = 5 * time.Second

	// maxLines and maxBytes limit what is read. An attempt to initialize a node logs three lines.
	maxLines = 600
	maxBytes = 256 << 10
)

// Read returns the end of the log of the operand's container in the pod, and whether that is all that its process
// logged. The last line may be cut. A time would not help to select lines: the node's clock may be wrong.
func Read(ctx context.Context, pods corev1client.PodsGetter, pod string) (log string, complete bool, err error) {
	log, err = read(ctx, pods, pod, ptr.To[int64](maxLines))
	return log, err == nil && len(log) < maxBytes && strings.Count(log, "\n") < maxLines, err
}

// ReadBegin returns the beginning of the log.
func ReadBegin(ctx context.Context, pods corev1client.PodsGetter, pod string) (string, error) {
	return read(ctx, pods, pod, nil)
}

// read returns the last lines of the log, or with nil its first ones.
func read(ctx context.Context, pods corev1client.PodsGetter, pod string, lines *int64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stream, err := pods.Pods(operand.Namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container:  operand.Name,
		TailLines:  lines,
		LimitBytes: ptr.To[int64](maxBytes),
	}).Stream(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of pod/%s in %s: %w", pod, operand.Namespace, err)
	}
	defer func() { _ = stream.Close() }()
	content, err := io.ReadAll(io.LimitReader(stream, maxBytes))
	if err != nil {
		return "", fmt.Errorf("reading the log of pod/%s in %s: %w", pod, operand.Namespace, err)
	}
	return string(content), nil
}
