package integration_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/freeport"
)

// binary is the operator, built once for all tests.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if binary, err = devcluster.BuildOperator(context.Background(), devcluster.Options{Progress: os.Stderr}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// operator is a running process of the operator.
type operator struct {
	command *exec.Cmd
	// address is where it serves.
	address string
	// dir has the operator's temporary files.
	dir    string
	log    *buffer
	exited chan struct{}
}

// startOperator starts the operator as its ServiceAccount. env overrides the variables of its Deployment.
func (c *cluster) startOperator(t *testing.T, env ...string) *operator {
	t.Helper()
	return c.startOperatorAt(t, 2, env...)
}

// startOperatorAt is startOperator with a log verbosity.
func (c *cluster) startOperatorAt(t *testing.T, verbosity int, env ...string) *operator {
	t.Helper()
	dir := t.TempDir()
	config, address := filepath.Join(dir, "config.yaml"), freeAddress(t)
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil,
		"apiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\nservingInfo:\n  bindAddress: %s\n", address), 0o600))
	o := &operator{
		address: address,
		command: exec.Command(binary, "operator", "--config="+config, "--kubeconfig="+c.kubeconfig(t, dir), "--namespace="+operatorNamespace,
			fmt.Sprintf("-v=%d", verbosity)),
		dir:    dir,
		log:    &buffer{},
		exited: make(chan struct{}),
	}
	o.command.Env = append(append(os.Environ(),
		podName,
		"OPERATOR_IMAGE=localhost/operator:new",
		"OPENSTACK_IMAGE=localhost/openstack:new",
		"OPERATOR_IMAGE_VERSION="+devcluster.Version,
		"OPERAND_IMAGE_VERSION="+devcluster.Version,
		// The directory for the self-signed certificate, which also remains if the process is killed.
		"TMPDIR="+dir,
		"GORACE=log_path="+filepath.Join(dir, raceLog),
	), env...)
	o.command.Stdout, o.command.Stderr = o.log, o.log
	require.NoError(t, o.command.Start())
	go func() {
		defer close(o.exited)
		// The log has the process's result.
		_ = o.command.Wait()
	}()
	t.Cleanup(func() {
		o.kill(t)
		o.expectNoRaces(t)
		if t.Failed() {
			t.Logf("the operator's log:\n%s", o.log)
		}
	})
	return o
}

// raceLog is the start of the names of the race detector's files, if the operator has it.
const raceLog = "race"

// expectNoRaces fails the test if the race detector has found something.
func (o *operator) expectNoRaces(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(o.dir, raceLog+".*"))
	require.NoError(t, err)
	for _, file := range files {
		found, err := os.ReadFile(file)
		require.NoError(t, err)
		t.Errorf("the operator has a data race:\n%s", found)
	}
}

// kill ends the process immediately.
func (o *operator) kill(t *testing.T) {
	t.Helper()
	o.signal(t, syscall.SIGKILL)
}

// terminate ends the process like the kubelet.
func (o *operator) terminate(t *testing.T) {
	t.Helper()
	o.signal(t, syscall.SIGTERM)
}

func (o *operator) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	select {
	case <-o.exited:
		return
	default:
	}
	require.NoError(t, o.command.Process.Signal(signal))
	<-o.exited
}

// awaitLog waits until the log contains text.
func (o *operator) awaitLog(t *testing.T, text string) {
	t.Helper()
	await(t, fmt.Sprintf("%q in the operator's log", text), func(context.Context) error {
		if !o.log.contains(text) {
			return fmt.Errorf("it is not there")
		}
		return nil
	})
}

// kubeconfig writes a kubeconfig with a token of the operator's ServiceAccount.
func (c *cluster) kubeconfig(t *testing.T, dir string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
	token, err := c.kube.CoreV1().ServiceAccounts(operatorNamespace).
		CreateToken(t.Context(), "cluster-cloud-controller-manager", request, metav1.CreateOptions{})
	require.NoError(t, err)
	file := filepath.Join(dir, "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"cluster": {Server: c.URL(), CertificateAuthority: c.ServerCAFile()}},
		AuthInfos:      map[string]*api.AuthInfo{"operator": {Token: token.Status.Token}},
		Contexts:       map[string]*api.Context{"operator": {Cluster: "cluster", AuthInfo: "operator", Namespace: operatorNamespace}},
		CurrentContext: "operator",
	}, file))
	return file
}

func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := freeport.Loopback()
	require.NoError(t, err)
	return net.JoinHostPort("127.0.0.1", port)
}

// buffer is a log with concurrent reads and writes.
type buffer struct {
	mutex sync.Mutex
	bytes bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.bytes.Write(p)
}

func (b *buffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.bytes.String()
}

func (b *buffer) contains(text string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return bytes.Contains(b.bytes.Bytes(), []byte(text))
}
