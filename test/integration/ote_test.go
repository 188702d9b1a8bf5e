package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

const (
	extensionPrefix = "[sig-cloud-provider][OCPFeatureGate:StaticPodCloudControllerManager] cloud-controller-managers "
	extensionSuffix = " [Suite:openshift/conformance/parallel]"
)

// testsExtension is the binary of the tests for openshift-tests.
type testsExtension struct{ binary, kubeconfig string }

func (c *cluster) testsExtension(t *testing.T) testsExtension {
	t.Helper()
	dir := t.TempDir()
	e := testsExtension{binary: filepath.Join(dir, "tests-ext"), kubeconfig: filepath.Join(dir, "kubeconfig")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", e.binary, ".")
	build.Dir = filepath.Join("..", "ote")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	config := c.RESTConfig()
	require.NoError(t, clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"cluster": {Server: c.URL(), CertificateAuthority: c.ServerCAFile()}},
		AuthInfos:      map[string]*api.AuthInfo{"admin": {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, ClientCertificate: config.CertFile, ClientKey: config.KeyFile, Token: config.BearerToken}},
		Contexts:       map[string]*api.Context{"admin": {Cluster: "cluster", AuthInfo: "admin"}},
		CurrentContext: "admin",
	}, e.kubeconfig))
	return e
}

// run returns the result of a test and its error, within a time that suffices if the cluster is as the test wants it.
func (e testsExtension) run(t *testing.T, name string) (result, message string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), e.binary, "run-test", "--timeout=5s", extensionPrefix+name+extensionSuffix)
	command.Env = append(os.Environ(), "KUBECONFIG="+e.kubeconfig)
	output, err := command.Output()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	var results []struct{ Result, Error string }
	require.NoError(t, json.Unmarshal(output, &results), string(output))
	require.Len(t, results, 1)
	require.Equal(t, results[0].Result == "failed", err != nil, "a failure is the exit code")
	return results[0].Result, results[0].Error
}

// Each test of openshift-tests fails while the cluster is not as it should be, and passes once it is.
func TestTheTestsForOpenshiftTestsTellAGoodClusterFromABadOne(t *testing.T) {
	t.Parallel()
	const (
		settled      = "should be Available, with one leader and one revision on every control-plane node"
		initialized  = "should initialize every Node"
		cannotDelete = "should not be able to delete a Node whose kubelet reports"
	)
	c := startCluster(t, configv1.OpenStackPlatformType)
	extension := c.testsExtension(t)
	result, _ := extension.run(t, settled)
	require.Equal(t, "skipped", result, "nothing is installed yet")

	c.startOperator(t)
	for _, node := range masters {
		c.register(t, node)
	}
	started := time.Now().Add(-2 * time.Minute)
	c.install(t, started)
	requireFailure := func(name, want string) {
		t.Helper()
		result, message := extension.run(t, name)
		require.Equal(t, "failed", result)
		require.Contains(t, message, want)
	}
	requirePass := func(name string) {
		t.Helper()
		result, message := extension.run(t, name)
		require.Equal(t, "passed", result, message)
	}
	requireFailure(settled, "clusteroperator/cloud-controller-manager: Available is False")
	c.hold(t, "master-0_ours", time.Now().Add(-time.Minute))
	c.awaitClusterOperator(t, configv1.OperatorProgressing, configv1.ConditionFalse, "")
	c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionTrue, "the one on node/master-0 leads")
	requirePass(settled)

	requireFailure(initialized, "node/master-0 is not initialized")
	for _, node := range masters {
		_, err := c.kube.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType,
			[]byte(`{"spec":{"providerID":"openstack:///`+node+`"}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	requirePass(initialized)

	requirePass(cannotDelete)
	// The operator would restore the binding.
	require.NoError(t, c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().Delete(t.Context(),
		deletionPolicy, metav1.DeleteOptions{}))
	await(t, "the API server to forget the policy", func(ctx context.Context) error {
		if result, _ := extension.run(t, cannotDelete); result == "passed" {
			return errors.New("it still refuses")
		}
		return nil
	})
	requireFailure(cannotDelete, "the cloud-controller-manager may delete node/master-0, whose kubelet reports")
}
