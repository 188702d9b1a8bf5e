// Package nodepod is shared by the commands that the operator runs once in a pod on a node, to change the node's files.
package nodepod

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// terminationLog is where the kubelet reads the message of a container that has ended.
const terminationLog = "/dev/termination-log"

// mirrorPodPeriod is how often the mirror pod is polled until the kubelet has deleted it.
const mirrorPodPeriod = 500 * time.Millisecond

// CleanupPeriod is how long the kubelet takes to clean up after a static pod whose mirror pod it has deleted: it polls
// the volumes every 0.3 seconds, and removes the cgroup (SyncTerminatedPod in k8s.io/kubernetes/pkg/kubelet). Until
// then it does not start another static pod of the same name.
const CleanupPeriod = time.Second

// requestTimeout leaves time for a retry within the command's timeout.
const requestTimeout = 15 * time.Second

// Pod is the pod that a command runs in.
type Pod struct {
	Node, Name     string
	Client         kubernetes.Interface
	TerminationLog string

	// ResourceDir contains the revisions on the node, CertDir the objects without revisions, and PodManifestDir the
	// manifests of the kubelet's static pods.
	ResourceDir, CertDir, PodManifestDir string

	// Dial is net.Dialer.DialContext, except in tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// timeout limits one run. The operator creates another pod after a failed one.
	timeout time.Duration
}

// Complete completes a command, which has a name and a help, with the flags that all such commands share. It hides the
// command, because only pods run it. doing describes what run does, for error messages.
func (p *Pod) Complete(
	cmd *cobra.Command, doing func() string, run func(context.Context) error, required ...string,
) *cobra.Command {
	p.TerminationLog, p.Dial = terminationLog, (&net.Dialer{Timeout: time.Second}).DialContext
	cmd.Args, cmd.Hidden, cmd.SilenceUsage = cobra.NoArgs, true, true
	cmd.SilenceErrors = true // the root command's caller prints it
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, err := p.connect(cmd.Context())
		if err != nil {
			return p.End(doing(), err)
		}
		ctx, cancel := context.WithTimeout(ctx, p.timeout)
		defer cancel()
		return p.End(doing(), run(ctx))
	}
	flags := cmd.Flags()
	flags.StringVar(&p.ResourceDir, "resource-dir", "", "Directory of the revisions on the node. Required.")
	flags.StringVar(&p.CertDir, "cert-dir", "", "Directory of the objects without revisions on the node.")
	flags.StringVar(&p.PodManifestDir, "pod-manifest-dir", "",
		"Directory from which the kubelet reads static pods. Required.")
	flags.DurationVar(&p.timeout, "timeout-duration", 2*time.Minute, "How long the command may take.")
	for _, name := range append(required, "resource-dir", "pod-manifest-dir") {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // no flag of that name is defined
		}
	}
	return cmd
}

// LockFile is locked by every pod that changes the static pod of this node.
func (p *Pod) LockFile() string {
	return filepath.Join(p.ResourceDir, "."+operand.PodConfigMap+".lock")
}

// RestartFile exists while the containers of the static pod may mount a directory that an installer has replaced, until
// the static pod is restarted: the next installer does that if this one ends early.
func (p *Pod) RestartFile() string {
	return filepath.Join(p.ResourceDir, "."+operand.PodConfigMap+".restart")
}

// Lock waits until no other pod changes the static pod of this node.
func (p *Pod) Lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = nodefiles.Lock(ctx, p.LockFile())
	if err != nil {
		return nil, fmt.Errorf("another installer or removal may be at work on this node: %w", err)
	}
	return unlock, nil
}

// LockCerts waits until the file-syncer does not write to CertDir.
func (p *Pod) LockCerts(ctx context.Context) (unlock func(), err error) {
	unlock, err = nodefiles.LockDirectory(ctx, p.CertDir)
	if err != nil {
		return nil, fmt.Errorf("the file-syncer of this node may be at work: %w", err)
	}
	return unlock, nil
}

func (p *Pod) staticPod() string { return operand.Name + "-" + p.Node }

// AwaitEnd waits until the kubelet has deleted the mirror pod with the UID, or any mirror pod if it is empty. The
// kubelet does so once the static pod has ended.
func (p *Pod) AwaitEnd(ctx context.Context, uid types.UID) error {
	name := p.staticPod()
	var last error
	err := wait.PollUntilContextCancel(ctx, mirrorPodPeriod, true, func(ctx context.Context) (bool, error) {
		current, err := p.Client.CoreV1().Pods(operand.Namespace).Get(ctx, name, metav1.GetOptions{})
		if ctx.Err() == nil {
			last = err // an unanswered request may succeed the next time
		}
		return apierrors.IsNotFound(err) || err == nil && uid != "" && current.UID != uid, nil
	})
	if err != nil {
		if last == nil {
			last = errors.New("it still exists")
		}
		return fmt.Errorf("the static pod has not ended, pod/%s in %s: %w", name, operand.Namespace, last)
	}
	return nil
}

type key struct{}

// In returns a context that provides a command with the pod that it runs in: the names, the client, Dial and the
// termination log. The end of the context replaces signals. Without it, a command takes all of them from its process.
func In(ctx context.Context, pod Pod) context.Context { return context.WithValue(ctx, key{}, pod) }

// connect sets the names, from the environment that the manifest fills by the downward API, and the client. It returns
// a context that ends with a signal.
func (p *Pod) connect(ctx context.Context) (context.Context, error) {
	if given, ok := ctx.Value(key{}).(Pod); ok {
		p.Node, p.Name, p.Client = given.Node, given.Name, given.Client
		p.Dial, p.TerminationLog = given.Dial, given.TerminationLog
		return ctx, nil
	}
	if p.Node, p.Name = os.Getenv("NODE_NAME"), os.Getenv("POD_NAME"); p.Node == "" || p.Name == "" {
		return nil, errors.New("the environment variables NODE_NAME and POD_NAME are required")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the credentials of the pod: %w", err)
	}
	config.Timeout = requestTimeout
	if p.Client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	return genericapiserver.SetupSignalContext(), nil
}

// Recorder returns a recorder of events about the pod.
func (p *Pod) Recorder(namespace, component string) events.Recorder {
	reference := &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: p.Name}
	return events.NewRecorder(p.Client.CoreV1().Events(namespace), component, reference, clock.RealClock{})
}

// End writes the error of what the command did to the termination log, which the operator's conditions quote, and
// returns it. It does nothing if err is nil.
func (p *Pod) End(did string, err error) error {
	if err == nil {
		return nil
	}
	// An answer of the API server may contain any character.
	message := printable.Text(did + ": " + err.Error())
	if err := os.WriteFile(p.TerminationLog, []byte(message), 0o600); err != nil {
		klog.ErrorS(err, "Failed to write the termination message")
	}
	return errors.New(message)
}
