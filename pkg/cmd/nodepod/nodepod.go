// Package nodepod has what the commands share that the operator runs once in a pod on a node, to change its files.
package nodepod

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/openshift/library-go/pkg/operator/events"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// TerminationLog is where the kubelet looks for the message of a container that ended.
const TerminationLog = "/dev/termination-log"

// requestTimeout leaves time for another request after one that gets no answer.
const requestTimeout = 15 * time.Second

// Pod is the pod that a command runs in.
type Pod struct {
	// Node is the name of its node, and Name its own.
	Node, Name string
	// Client has the rights of its ServiceAccount.
	Client kubernetes.Interface
	// TerminationLog is the file for the message of its end.
	TerminationLog string
}

// Connect sets the names from the environment, where the manifest puts them through the downward API, and the client.
func (p *Pod) Connect() error {
	if p.Node, p.Name = os.Getenv("NODE_NAME"), os.Getenv("POD_NAME"); p.Node == "" || p.Name == "" {
		return errors.New("the environment variables NODE_NAME and POD_NAME are required")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("reading the credentials of the pod: %w", err)
	}
	config.Timeout = requestTimeout
	p.Client, err = kubernetes.NewForConfig(config)
	return err
}

// Recorder returns a recorder of events about the pod.
func (p *Pod) Recorder(namespace, component string) events.Recorder {
	reference := &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: p.Name}
	return events.NewRecorder(p.Client.CoreV1().Events(namespace), component, reference, clock.RealClock{})
}

// End writes the error of what the command did to the termination log, which the operator's conditions quote, and
// returns it. It does nothing if there is none.
func (p *Pod) End(did string, err error) error {
	if err == nil {
		return nil
	}
	// An answer of the API server may have anything in it.
	message := printable.Text(did + ": " + err.Error())
	if err := os.WriteFile(p.TerminationLog, []byte(message), 0o600); err != nil {
		klog.ErrorS(err, "Failed to write the termination message")
	}
	return errors.New(message)
}
