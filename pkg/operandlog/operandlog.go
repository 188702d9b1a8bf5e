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
// logged. The last line may be cut.
func Read(ctx context.Context, pods corev1client.PodsGetter, pod string) (log string, complete bool, err error) {
	log, err = read(ctx, pods, pod, &corev1.PodLogOptions{TailLines: ptr.To[int64](maxLines)})
	return log, err == nil && len(log) < maxBytes && strings.Count(log, "\n") < maxLines, err
}

// ReadLast returns what was logged within the last time, as far as the end of the log has it. The kubelet compares the
// times of its own node, so another clock does not matter.
func ReadLast(ctx context.Context, pods corev1client.PodsGetter, pod string, last time.Duration) (string, error) {
	return read(ctx, pods, pod, &corev1.PodLogOptions{
		TailLines: ptr.To[int64](maxLines), SinceSeconds: ptr.To(int64(last / time.Second)),
	})
}

// ReadBegin returns the beginning of the log.
func ReadBegin(ctx context.Context, pods corev1client.PodsGetter, pod string) (string, error) {
	return read(ctx, pods, pod, &corev1.PodLogOptions{})
}

// read returns what the options select of the log.
func read(
	ctx context.Context, pods corev1client.PodsGetter, pod string, options *corev1.PodLogOptions,
) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	options.Container, options.LimitBytes = operand.Name, ptr.To[int64](maxBytes)
	stream, err := pods.Pods(operand.Namespace).GetLogs(pod, options).Stream(ctx)
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
