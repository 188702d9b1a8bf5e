package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/snapshottest"
)

// statusOf reads a cluster through its API.
func statusOf(t *testing.T, c *snapshottest.Cluster) *report.Status {
	t.Helper()
	client, err := snapshot.NewClient(c.Serve(t))
	require.NoError(t, err)
	shot, err := client.Read(t.Context(), nil)
	require.NoError(t, err)
	status, err := report.StatusOf(shot)
	require.NoError(t, err)
	return status
}

func requireGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestStatusIsOneScreen(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*world)
		healthy bool
		settled bool
	}{
		"healthy":             {func(*world) {}, true, true},
		"rollout-in-progress": {rollsOut, true, false},
		"no-leader":           {noLeader, false, false},
		"input-rejected":      {inputRejected, false, false},
		"preflight-failed":    {preflightFailed, false, false},
		"preflight-waits":     {preflightWaits, true, true},
		"operator-down":       {operatorDown, false, false},
		"removed":             {isRemoved, true, true},
		"platform-none":       {platformNone, true, true},
		"not-yet-observed":    {notYetObserved, false, false},
		"platform-unknown":    {on("betacloud"), true, true},
		"no-secrets":          {func(w *world) { w.Forbidden = []string{"secrets"} }, true, true},
		"no-nodes-nor-pods":   {func(w *world) { w.Forbidden = []string{"nodes", "pods"} }, true, true},
		"nodes-wait":          {nodesWait, false, false},
		"long-names":          {longNames, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.change(w)
			status := statusOf(t, w.cluster())
			require.Equal(t, tc.healthy, status.Healthy())
			require.Equal(t, tc.settled, status.Settled())
			var out bytes.Buffer
			require.NoError(t, status.WriteText(&out, false))
			requireGolden(t, "status/"+name+".txt", out.String())
			require.LessOrEqual(t, strings.Count(out.String(), "\n"), 50)
			requireWrapped(t, out.String())
		})
	}
}

func TestOnlyTheFirstLineHasAColor(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*world)
		color  string
	}{
		"green if nothing is wrong":      {func(*world) {}, "\x1b[32m"},
		"red otherwise":                  {noLeader, "\x1b[1;31m"},
		"red while the operator is down": {operatorDown, "\x1b[1;31m"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.change(w)
			var plain, colored bytes.Buffer
			status := statusOf(t, w.cluster())
			require.NoError(t, status.WriteText(&plain, false))
			require.NoError(t, status.WriteText(&colored, true))
			first, rest, _ := strings.Cut(plain.String(), "\n")
			require.Equal(t, tc.color+first+"\x1b[0m\n"+rest, colored.String())
		})
	}
}

func TestACredentialsVersionIsTheFirstRevisionWithItsContent(t *testing.T) {
	w := newWorld(t)
	w.credentials(5, "old")
	w.credentials(6, "new")
	w.credentials(7, "new")
	w.Nodes("master-2").CurrentRevision = 5
	nodes := statusOf(t, w.cluster()).Nodes
	require.Equal(t, report.Credentials{SinceRevision: 6, Created: revisionTime(6)}, nodes[0].Credentials)
	require.Equal(t, report.Credentials{SinceRevision: 5, Created: revisionTime(5), Outdated: true}, nodes[2].Credentials)
}

func TestWhyNoProcessLeadsIsNotThatOneLed(t *testing.T) {
	w := newWorld(t)
	operatorDown(w)
	w.condition("CloudControllerManagerAvailable", "True", "AsExpected", "3 of 3 cloud-controller-managers are Ready; the one on node/master-0 leads")
	w.plane.Lease.Spec.HolderIdentity = ptr.To("")
	const want = `the state of lease/cloud-controller-manager in openshift-cloud-controller-manager is vacant, its holder ""`
	require.Equal(t, want, statusOf(t, w.cluster()).Leader)
	const tolerated = "tolerated until 2026-11-21T09:02:00Z: lease/cloud-controller-manager has no holder"
	w.condition("CloudControllerManagerAvailable", "True", "NoLeader", tolerated)
	require.Equal(t, tolerated, statusOf(t, w.cluster()).Leader)
}

func TestARemovalIsShownBeforeItBegins(t *testing.T) {
	w := newWorld(t)
	w.condition("Removing", "False", "Waiting", "spec.managementState is Removed: from 2026-11-21T09:01:00Z on")
	require.Equal(t, []report.Condition{{
		Type: "Removing", Status: "False", Since: now.Add(-10 * time.Minute), Reason: "Waiting", Code: "CCM0166",
		Message: "spec.managementState is Removed: from 2026-11-21T09:01:00Z on",
	}}, statusOf(t, w.cluster()).Progress)
	w.condition("Removing", "False", "Blocked", "node/worker-1 waits")
	require.Empty(t, statusOf(t, w.cluster()).Progress)
}

func TestTheOperatorIsDownWhenItsLockExpires(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*world)
		problem string
	}{
		"it renews it":             {func(*world) {}, ""},
		"it is late":               {func(w *world) { w.Lock.Spec.RenewTime.Time = now.Add(-137 * time.Second) }, ""},
		"it is gone":               {func(w *world) { w.Lock.Spec.RenewTime.Time = now.Add(-138 * time.Second) }, "the operator has not renewed its lock for 2m18s"},
		"it stopped in good order": {func(w *world) { *w.Lock.Spec.HolderIdentity = "" }, "the operator has released its lock and no process has taken it"},
		"it never ran": {func(w *world) { w.Lock = nil },
			"lease/cluster-cloud-controller-manager-operator-lock in openshift-cloud-controller-manager-operator does not exist: no process of the operator has run"},
		"its lock cannot be read": {func(w *world) { w.Forbidden = []string{"openshift-cloud-controller-manager-operator"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.change(w)
			require.Equal(t, tc.problem, statusOf(t, w.cluster()).Operator.Problem)
		})
	}
}

func TestWithoutTheOperatorThereIsNoStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		forbidden []string
		want      string
	}{
		"it is not installed": {nil, "cloudcontrollermanager/cluster does not exist: this operator is not installed, or another cluster was asked; check the kubeconfig"},
		"no right to read it": {[]string{"cloudcontrollermanagers"}, "cloudcontrollermanager/cluster: not known: no right to read this"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := snapshot.NewClient((&snapshottest.Cluster{Now: now, Forbidden: tc.forbidden}).Serve(t))
			require.NoError(t, err)
			shot, err := client.Read(t.Context(), nil)
			require.NoError(t, err)
			_, err = report.StatusOf(shot)
			require.EqualError(t, err, tc.want)
		})
	}
}

// A wrong clock of the machine where the command runs must not make the operator look dead.
func TestTheTimeIsThatOfTheAPIServer(t *testing.T) {
	status := statusOf(t, newWorld(t).cluster())
	require.Equal(t, now, status.Taken)
	require.True(t, status.Operator.Running)
}
