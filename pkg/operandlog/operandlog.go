// Package operandlog reads the logs of a cloud-controller-manager.
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
	// timeout limits a read: the API server calls a kubelet, which may hang.
	timeout = 5 * time.Second

	// maxLines and maxBytes limit a read. An attempt to initialize a node logs three lines.
	maxLines = 600
	maxBytes = 256 << 10
)

// Read returns the end of the log of the operand's container in the pod, and whether that is all that its process
// logged. The last line may be cut. Like the functions below, it omits forged lines; see Genuine.
func Read(ctx context.Context, pods corev1client.PodsGetter, pod string) (log string, complete bool, err error) {
	log, isCut, err := readEnd(ctx, pods, pod, corev1.PodLogOptions{})
	complete = isWhole(log, isCut)
	return Genuine(log, complete), complete && err == nil, err
}

func isWhole(log string, isCut bool) bool { return !isCut && strings.Count(log, "\n") < maxLines }

// ReadLast returns what was logged within the given time, up to the limits. The kubelet compares the times of its own
// node, so other clocks do not matter.
func ReadLast(ctx context.Context, pods corev1client.PodsGetter, pod string, last time.Duration) (string, error) {
	options := corev1.PodLogOptions{SinceSeconds: ptr.To(int64(last / time.Second))}
	log, isCut, err := readEnd(ctx, pods, pod, options)
	return Genuine(log, isWhole(log, isCut)), err
}

// ReadBegin returns the beginning of the log. It is an error if there is one, and no line of it can be the process's.
func ReadBegin(ctx context.Context, pods corev1client.PodsGetter, pod string) (string, error) {
	log, _, err := read(ctx, pods, pod, corev1.PodLogOptions{})
	begin := Genuine(log, true)
	if begin == "" && log != "" {
		err = fmt.Errorf("the log of pod/%s in %s has another time zone", pod, operand.Namespace)
	}
	return begin, err
}

// ReadEnded returns the end of the log of the container's last process that has ended. isCurrent is whether that is the
// container's current process, as long as it is not restarted; otherwise it is the previous one.
func ReadEnded(ctx context.Context, pods corev1client.PodsGetter, pod string, isCurrent bool) (string, error) {
	log, isCut, err := readEnd(ctx, pods, pod, corev1.PodLogOptions{Previous: !isCurrent})
	return Genuine(log, isWhole(log, isCut)), err
}

// readEnd returns the last lines of what the options select, and whether there is more. If lines together exceed
// maxBytes, the kubelet omits their end; then fewer lines are read, because a provider may log what a tenant wrote.
func readEnd(
	ctx context.Context, pods corev1client.PodsGetter, pod string, options corev1.PodLogOptions,
) (log string, isCut bool, err error) {
	for lines := int64(maxLines); lines > 0; lines /= 4 {
		options.TailLines = &lines
		var omitsEnd bool
		if log, omitsEnd, err = read(ctx, pods, pod, options); err != nil || !omitsEnd {
			return log, isCut, err
		}
		isCut = true
	}
	return log, isCut, nil
}

func read(
	ctx context.Context, pods corev1client.PodsGetter, pod string, options corev1.PodLogOptions,
) (log string, omitsEnd bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	options.Container, options.LimitBytes, options.Timestamps = operand.Name, ptr.To[int64](maxBytes), true
	stream, err := pods.Pods(operand.Namespace).GetLogs(pod, &options).Stream(ctx)
	if err != nil {
		return "", false, fmt.Errorf("reading the log of pod/%s in %s: %w", pod, operand.Namespace, err)
	}
	defer func() { _ = stream.Close() }()
	content, err := io.ReadAll(io.LimitReader(stream, maxBytes))
	if err != nil {
		return "", false, fmt.Errorf("reading the log of pod/%s in %s: %w", pod, operand.Namespace, err)
	}
	return string(content), len(content) == maxBytes, nil
}
