package status_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/status"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/snapshottest"
)

// asCommand makes the test's executable run the command, so that exit codes and streams are real.
const asCommand = "STATUS_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "" {
		os.Exit(m.Run())
	}
	if err := status.NewCommand().Execute(); err != nil {
		os.Exit(3) // the command exits itself
	}
}

type result struct {
	code           int
	stdout, stderr string
}

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// cluster is one on a platform without a cloud-controller-manager. operator is its ClusterOperator.
func cluster() (c *snapshottest.Cluster, operator *configv1.ClusterOperator) {
	resource := &ccmv1.CloudControllerManager{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	resource.Spec.ObservedConfig.Raw = []byte(`{"platform":"none"}`)
	operator = &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager"}}
	set(operator, "True", "False", "False")
	lock := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager-operator", Name: "cluster-cloud-controller-manager-operator-lock"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("host_pod_uid_process"), LeaseDurationSeconds: ptr.To(int32(137)), RenewTime: &metav1.MicroTime{Time: now},
		},
	}
	return &snapshottest.Cluster{Now: now, Objects: []any{resource, operator, lock}}, operator
}

func set(operator *configv1.ClusterOperator, available, progressing, degraded configv1.ConditionStatus) {
	operator.Status.Conditions = []configv1.ClusterOperatorStatusCondition{
		{Type: configv1.OperatorAvailable, Status: available}, {Type: configv1.OperatorProgressing, Status: progressing, Message: "node by node"},
		{Type: configv1.OperatorDegraded, Status: degraded, Message: "broken"},
	}
}

// run runs the command on a cluster, nil for none.
func run(t *testing.T, c *snapshottest.Cluster, args ...string) result {
	t.Helper()
	dir := t.TempDir()
	if c != nil {
		c.Kubeconfig(t, filepath.Join(dir, "kubeconfig"))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = []string{asCommand + "=1", "HOME=" + dir}
	if c != nil {
		cmd.Env = append(cmd.Env, "KUBECONFIG=kubeconfig")
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

const screen = `Available, not progressing, not degraded

Platform   none, no cloud-controller-manager of this operator runs here
Operator   pod, lock renewed 0s ago
`

func TestTheExitCodeSaysWhetherTheOperatorIsWell(t *testing.T) {
	for name, tc := range map[string]struct {
		available, progressing, degraded configv1.ConditionStatus
		code                             int
	}{
		"it is":                {"True", "False", "False", 0},
		"it rolls out":         {"True", "True", "False", 0},
		"it is not available":  {"False", "False", "False", 1},
		"it is degraded":       {"True", "False", "True", 1},
		"nobody has said that": {"Unknown", "Unknown", "Unknown", 1},
	} {
		t.Run(name, func(t *testing.T) {
			c, operator := cluster()
			set(operator, tc.available, tc.progressing, tc.degraded)
			got := run(t, c)
			require.Equal(t, tc.code, got.code)
			require.Empty(t, got.stderr)
		})
	}
	c, _ := cluster()
	require.Equal(t, result{stdout: screen}, run(t, c), "a pipe gets no colors")
}

func TestWhatCannotBeReadIsOneLineAndExitCode2(t *testing.T) {
	empty := &snapshottest.Cluster{Now: now}
	for name, tc := range map[string]struct {
		cluster *snapshottest.Cluster
		args    []string
		want    string
	}{
		"no kubeconfig":     {nil, nil, "status: no cluster is configured: set --kubeconfig or KUBECONFIG\n"},
		"a missing one":     {nil, []string{"--kubeconfig=missing"}, "status: kubeconfig missing: stat missing: no such file or directory\n"},
		"a missing context": {empty, []string{"--context=other"}, "status: kubeconfig kubeconfig: context \"other\" does not exist\n"},
		"an unknown flag":   {empty, []string{"--wat"}, "status: unknown flag: --wat\n"},
		"a wrong time":      {empty, []string{"--timeout=5"}, "status: --timeout is \"5\": specify a duration such as 5m\n"},
		"a wrong choice":    {empty, []string{"--wait=maybe"}, "status: --wait is \"maybe\": specify true or false\n"},
		"an argument":       {empty, []string{"node"}, "status: wrong arguments: write status [flags]\n"},
		"an unknown format": {empty, []string{"--output=yaml"}, "status: --output is \"yaml\": specify text or json\n"},
		"another cluster":   {empty, nil, "status: cloudcontrollermanager/cluster does not exist: this operator is not installed, or another cluster was asked; check the kubeconfig\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, result{code: 2, stderr: tc.want}, run(t, tc.cluster, tc.args...))
		})
	}
}

func TestProgramsReadJSON(t *testing.T) {
	c, _ := cluster()
	got := run(t, c, "--output=json")
	require.Equal(t, 0, got.code, got.stderr)
	var read report.Status
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &read))
	require.Equal(t, "none", read.Platform)
	require.True(t, read.Operator.Running)
	require.Equal(t, "True", read.Available.Status)
}

func TestWaitEndsWhenTheRolloutDoes(t *testing.T) {
	c, operator := cluster()
	set(operator, "True", "True", "False")
	looks := 0
	c.Before = func(path string) {
		if path == "/apis/config.openshift.io/v1/clusteroperators/cloud-controller-manager" {
			looks++
			if looks == 3 {
				set(operator, "True", "False", "False")
			}
		}
	}
	require.Equal(t, result{stdout: screen, stderr: "waiting: Progressing is True: node by node\n"}, run(t, c, "--wait"))
	require.Equal(t, 3, looks)
}

func TestWhatItWaitsForFitsTheTerminal(t *testing.T) {
	c, operator := cluster()
	set(operator, "True", "True", "False")
	operator.Status.Conditions[1].Message = strings.TrimSpace(strings.Repeat("one by one, ", 12))
	got := run(t, c, "--wait", "--timeout=1s")
	require.Equal(t, "waiting: Progressing is True: one by one, one by one, one by one, one by one, one by one, one by\n"+
		"         one, one by one, one by one, one by one, one by one, one by one, one by one,\n", got.stderr)
}

func TestWaitShowsTheLastStatusWhenItsTimeIsOver(t *testing.T) {
	c, operator := cluster()
	set(operator, "True", "False", "True")
	got := run(t, c, "--wait", "--timeout=1s")
	require.Equal(t, 1, got.code)
	require.Equal(t, "waiting: Degraded is True: broken\n", got.stderr)
	require.Contains(t, got.stdout, "Available, not progressing, degraded\n")
}

const resourcePath, noRight = "/apis/operator.openshift.io/v1/cloudcontrollermanagers/cluster",
	"cloudcontrollermanager/cluster: not known: no right to read this\n"

func TestWaitShowsNoStatusFromBeforeTheClusterCouldNotBeRead(t *testing.T) {
	c, operator := cluster()
	set(operator, "True", "True", "False")
	looks := 0
	c.Before = func(path string) {
		if path == resourcePath {
			looks++
			if looks == 2 {
				c.Forbidden = []string{"cloudcontrollermanagers"}
			}
		}
	}
	require.Equal(t, result{code: 2, stderr: "waiting: Progressing is True: node by node\nstatus: waiting: " + noRight},
		run(t, c, "--wait", "--timeout=1s"))
}

func TestWaitSaysThatTheClusterCannotBeReadAndGoesOn(t *testing.T) {
	c, operator := cluster()
	set(operator, "True", "True", "False")
	looks := 0
	c.Before = func(path string) {
		if path == resourcePath {
			looks++
			c.Forbidden = nil
			if looks == 2 {
				c.Forbidden = []string{"cloudcontrollermanagers"}
				set(operator, "True", "False", "False")
			}
		}
	}
	require.Equal(t, result{stdout: screen, stderr: "waiting: Progressing is True: node by node\nwaiting: " + noRight},
		run(t, c, "--wait"))
}

// The command asks for less than a person would: this is all.
func TestStatusIsNineRequests(t *testing.T) {
	c, _ := cluster()
	require.Equal(t, 0, run(t, c).code)
	require.Equal(t, []string{
		"GET /api/v1/namespaces/openshift-cloud-controller-manager/secrets",
		"GET /apis/operator.openshift.io/v1/cloudcontrollermanagers/cluster",
		"GET /apis/config.openshift.io/v1/clusteroperators/cloud-controller-manager",
		"GET /apis/config.openshift.io/v1/infrastructures/cluster",
		"GET /api/v1/nodes",
		"GET /api/v1/namespaces/openshift-cloud-controller-manager/pods",
		"GET /apis/coordination.k8s.io/v1/namespaces/openshift-cloud-controller-manager/leases/cloud-controller-manager",
		"GET /apis/coordination.k8s.io/v1/namespaces/openshift-cloud-controller-manager-operator/leases/cluster-cloud-controller-manager-operator-lock",
		"GET /api/v1/namespaces/openshift-cloud-controller-manager/configmaps/serving-ca",
	}, c.Requests)
}
