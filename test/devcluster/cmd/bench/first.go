package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/freeport"
)

const (
	// firstRuns is the number of measured starts.
	firstRuns = 5
	// candidate is the ConfigMap that makes a candidate complete.
	candidate = "cloud-controller-manager-pod"
)

// starter starts the operator as a process beside a control plane without nodes.
type starter struct {
	*devcluster.Cluster
	kube               kubernetes.Interface
	binary, kubeconfig string
}

// measureFirst measures the time from the start of the process to the first object that it made for the operand, and
// to the first complete candidate, in clusters that have none yet.
func measureFirst(ctx context.Context, o options) (err error) {
	binary, err := devcluster.BuildOperator(ctx, devcluster.Options{Progress: o.progress})
	if err != nil {
		return err
	}
	var objects, candidates []float64
	for range firstRuns {
		object, complete, err := firstOf(ctx, o, binary)
		if err != nil {
			return err
		}
		objects, candidates = append(objects, object.Seconds()), append(candidates, complete.Seconds())
	}
	slices.Sort(objects)
	slices.Sort(candidates)
	o.row("start to the first applied object of the operand, median (min–max) of 5", "%.2f s (%.2f–%.2f)", objects[2],
		objects[0], objects[4])
	o.row("start to the first complete candidate, median (min–max) of 5", "%.2f s (%.2f–%.2f)", candidates[2],
		candidates[0], candidates[4])
	return nil
}

func firstOf(ctx context.Context, o options, binary string) (object, complete time.Duration, err error) {
	started, err := devcluster.Start(ctx, devcluster.Options{Name: "bench-first",
		Platform: configv1.OpenStackPlatformType, Progress: o.progress})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, started.Stop(context.WithoutCancel(ctx))) }()
	s, err := newStarter(ctx, started, binary)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	_, stop, err := s.start()
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	var first, last request
	err = wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		requests, err := readAudit(s.AuditLog(), began, time.Now())
		if err != nil {
			return false, err
		}
		first, _ = firstWrite(requests, func(request) bool { return true })
		var found bool
		last, found = firstWrite(requests, func(r request) bool {
			return r.Object.Resource == "configmaps" && r.Object.Name == candidate
		})
		return found, nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("waiting for a candidate: %w", err)
	}
	return first.Finished.Sub(began), last.Finished.Sub(began), nil
}

// newStarter writes what the operator needs to start beside a control plane.
func newStarter(ctx context.Context, started *devcluster.Cluster, binary string) (*starter, error) {
	s := &starter{Cluster: started, binary: binary, kubeconfig: filepath.Join(started.Dir(), "operator.kubeconfig")}
	config := started.RESTConfig()
	// The part scale makes many objects.
	config.QPS, config.Burst = 1000, 1000
	var err error
	if s.kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	return s, s.writeKubeconfig(ctx)
}

// start starts the operator with its Deployment's environment variables. It returns its process, and a function that
// ends it.
func (s *starter) start() (pid int, stop func() error, err error) {
	port, err := freeport.Loopback()
	if err != nil {
		return 0, nil, err
	}
	config := filepath.Join(s.Dir(), "operator.yaml")
	content := fmt.Sprintf("apiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\nservingInfo:\n  "+
		"bindAddress: 127.0.0.1:%s\n", port)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		return 0, nil, err
	}
	log, err := os.Create(filepath.Join(s.Dir(), "logs", "operator.log"))
	if err != nil {
		return 0, nil, err
	}
	defer log.Close()
	command := exec.Command(s.binary, "operator", "--config="+config, "--kubeconfig="+s.kubeconfig,
		"--namespace="+operatorNamespace)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Env = append(os.Environ(),
		"OPERATOR_IMAGE="+devcluster.ImageRef("cluster-cloud-controller-manager-operator"),
		"OPENSTACK_IMAGE="+devcluster.ImageRef("openstack-cloud-controller-manager"),
		"OPERATOR_IMAGE_VERSION="+devcluster.Version,
		"OPERAND_IMAGE_VERSION="+devcluster.Version,
		"GOGC=50",
		// The directory for its self-signed certificate.
		"TMPDIR="+s.Dir(),
		"POD_NAME=bench",
		"POD_NAMESPACE="+operatorNamespace,
	)
	if err := command.Start(); err != nil {
		return 0, nil, fmt.Errorf("starting the operator: %w", err)
	}
	return command.Process.Pid, func() error {
		err := command.Process.Kill()
		// Wait reports that the process was killed.
		_ = command.Wait()
		return err
	}, nil
}

// writeKubeconfig writes a kubeconfig for the operator's ServiceAccount.
func (s *starter) writeKubeconfig(ctx context.Context) error {
	ask := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	token, err := s.kube.CoreV1().ServiceAccounts(operatorNamespace).CreateToken(ctx, operatorAccount, ask,
		metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("token of the operator: %w", err)
	}
	return clientcmd.WriteToFile(api.Config{
		Clusters:  map[string]*api.Cluster{"bench": {Server: s.URL(), CertificateAuthority: s.ServerCAFile()}},
		AuthInfos: map[string]*api.AuthInfo{"operator": {Token: token.Status.Token}},
		Contexts: map[string]*api.Context{"bench": {Cluster: "bench", AuthInfo: "operator",
			Namespace: operatorNamespace}},
		CurrentContext: "bench",
	}, s.kubeconfig)
}
