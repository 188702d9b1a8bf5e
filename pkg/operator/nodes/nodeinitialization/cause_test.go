package nodeinitialization

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
)

// attempt is what the leader logs about an attempt that fails.
func attempt(node, text string) string {
	const at = "1124 09:03:04.123456       1 node_controller.go:"
	return "I" + at + "432] Initializing node " + node + " with cloud provider\n" +
		"I" + at + "236] error syncing '" + node + "': failed to get instance metadata for node " + node + ": " + text + ", requeuing\n"
}

const begin = "not initialized by the cloud-controller-manager: "

func TestTheCauseIsNamedWithTheLeadersWords(t *testing.T) {
	const down = `got 503 instead: <html><head><title>503 Service Unavailable</title></head></html>`
	for name, tc := range map[string]struct {
		change func(*cluster)
		nodes  []string
		want   string
	}{
		"one cause": {
			change: func(c *cluster) { c.log = attempt("a", down) },
			nodes:  []string{"a"},
			want: `node/a (since 2026-11-21T08:59:00Z): the cloud's API answers with a server error ` +
				`("got 503 instead: 503 Service Unavailable"); check the state of the cloud's API`,
		},
		"of nodes with the same cause one error is quoted": {
			change: func(c *cluster) { c.log = attempt("b", "instance not found") + attempt("a", "failed to find object") },
			nodes:  []string{"a", "b"},
			want: `node/a (since 2026-11-21T08:59:00Z; no providerID, looked up by the name "a"), ` +
				`node/b (since 2026-11-21T08:59:00Z; no providerID, looked up by the name "b"): the cloud does not know the machine ` +
				`("failed to find object"); check that the project, region or datacenter of the cloud configuration has an instance ` +
				`with this name or providerID`,
		},
		"each cause has its action": {
			change: func(c *cluster) { c.log = attempt("a", "got 401 instead: {}") + attempt("b", "got 429 instead: ") },
			nodes:  []string{"a", "b"},
			want: `node/a (since 2026-11-21T08:59:00Z): the cloud rejects the credentials ("got 401 instead: {}"); ` +
				`replace the credentials; ` +
				`node/b (since 2026-11-21T08:59:00Z): the cloud throttles requests ("got 429 instead:"); ` +
				`find what else calls the cloud's API with this account, or raise the limit`,
		},
		"an error with an action of its own": {
			change: func(c *cluster) { c.log = attempt("a", `failed calling webhook "b": context deadline exceeded`) },
			nodes:  []string{"a"},
			want: `node/a (since 2026-11-21T08:59:00Z): an admission webhook of the cluster does not answer ` +
				`("failed calling webhook \"b\": context deadline exceeded"); repair the admission webhook that the error names: its ` +
				`pods, its Service and its certificate`,
		},
		"an error before the login of another node": {
			change: func(c *cluster) {
				c.log = attempt("a", "got 401 instead: {}") +
					"I1124 09:03:05.123456       1 node_controller.go:500] Successfully initialized node b with cloud provider\n"
			},
			nodes: []string{"a"},
			want:  `node/a (since 2026-11-21T08:59:00Z)` + advice,
		},
		"an error of several lines": {
			change: func(c *cluster) {
				c.log = attempt("a", "status code 403: {\n  \"message\": \"iam.serviceAccounts.getAccessToken\"\n}\n")
			},
			nodes: []string{"a"},
			want: `node/a (since 2026-11-21T08:59:00Z): the role or identity in the cloud does not trust the ` +
				`cloud-controller-manager's service account ("status code 403: { \"message\": \"iam.serviceAccounts.getAccessToken\" }"); ` +
				nodecause.NotTrusted.Action(),
		},
		"an error of a former Node of the name": {
			change: func(c *cluster) { c.log = strings.ReplaceAll(attempt("a", "got 401 instead: {}"), "1124 ", "1120 ") },
			nodes:  []string{"a"},
			want: `node/a (since 2026-11-21T08:59:00Z; no providerID): the cloud-controller-manager has logged nothing about the ` +
				`node; ` + nodecause.NotAsked.Action(),
		},
		"an error of no class is quoted": {
			change: func(c *cluster) { c.log = attempt("a", "\x1b[31mflavor has no \u202ename") },
			nodes:  []string{"a"},
			want: `node/a (since 2026-11-21T08:59:00Z): the cloud-controller-manager got an error ("[31mflavor has no name"); ` +
				`check that the cloud has an instance with the node's name and with the node's addresses, and that the ` +
				`credentials may read instances and their networks`,
		},
		"the leader has logged nothing about the node": {
			change: func(c *cluster) { c.log = attempt("b", "instance not found") },
			nodes:  []string{"a"},
			want: `node/a (since 2026-11-21T08:59:00Z; no providerID): ` +
				`the cloud-controller-manager has logged nothing about the node; ` +
				`if no other node is initialized meanwhile, restart the static pod that holds the lease: ` +
				`oc debug node/$(oc -n openshift-cloud-controller-manager get lease cloud-controller-manager ` +
				`-o jsonpath='{.spec.holderIdentity}' | cut -d_ -f1) -- chroot /host sh -c ` +
				`'crictl stop $(crictl ps -q --name ^cloud-controller-manager$)'`,
		},
		"a leader that has just begun may have logged nothing yet": {
			change: func(c *cluster) { c.Acquire("m1", "second", 0) },
			nodes:  []string{"a"},
			want:   `node/a (since 2026-11-21T08:59:00Z)` + advice,
		},
		"a part of the log may have nothing about the node": {
			change: func(c *cluster) { c.log = strings.Repeat(attempt("b", "instance not found"), 300) },
			nodes:  []string{"a"},
			want:   `node/a (since 2026-11-21T08:59:00Z)` + advice,
		},
		"no CCM leads": {
			change: func(c *cluster) { c.Exit("m0", 0, "") },
			nodes:  []string{"a"},
			want: `node/a (since 2026-11-21T08:59:00Z): no cloud-controller-manager of this operator leads; ` +
				`see the condition CloudControllerManagerAvailable`,
		},
		"the log cannot be read": {
			change: func(c *cluster) { c.status = http.StatusForbidden },
			nodes:  []string{"a"},
			want:   `node/a (since 2026-11-21T08:59:00Z)` + advice,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, `{"platform":"openstack"}`)
			tc.change(c)
			c.settle(t)
			c.wait(tc.nodes...)
			require.Equal(t, begin+tc.want, c.notice(t))
		})
	}
}

func TestOnlyTheEndOfTheLeadersLogIsReadAndOnlyWhileANodeWaits(t *testing.T) {
	const url = "/api/v1/namespaces/openshift-cloud-controller-manager/pods/cloud-controller-manager-m0/log" +
		"?container=cloud-controller-manager&limitBytes=262144&tailLines=600&timestamps=true"
	c := start(t, `{"platform":"openstack"}`)
	c.wait()
	c.sync(t)
	require.Empty(t, c.reads)

	c.wait("a")
	for range 5 { // conditions of others change
		c.sync(t)
	}
	require.Equal(t, []string{url}, c.reads)
	c.pass(t, 29*time.Second)
	c.sync(t)
	require.Len(t, c.reads, 1)
	c.pass(t, time.Second)
	c.sync(t)
	require.Equal(t, []string{url, url}, c.reads)

	c.Acquire("m1", "second", 30) // its log has another cause
	c.settle(t)
	c.sync(t)
	require.Len(t, c.reads, 3)
	require.Contains(t, c.reads[2], "cloud-controller-manager-m1/log")

	delete(c.controller.store.waiting, "a")
	c.pass(t, time.Hour)
	c.sync(t)
	require.Len(t, c.reads, 3)
}

func TestLongLinesDoNotHideTheEndOfTheLeadersLog(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	c.logs(begins + annotated + strings.Repeat(chatter, 10) + attempt("a", "got 503 instead: "))
	c.wait("a")
	require.Contains(t, c.notice(t), "the cloud's API answers with a server error")

	c.logs(begins + strings.Repeat(annotated, 30) + attempt("a", "got 403 instead: "))
	c.pass(t, 30*time.Second)
	require.Contains(t, c.notice(t), "the credentials lack a permission")
}

func TestAnErrorThatDiffersByAnIDIsQuotedOnce(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	c.wait("a")
	quoted := func(log string) string {
		c.logs(log)
		c.pass(t, 30*time.Second)
		return c.notice(t)
	}
	throttled := quoted(attempt("a", "got 429 instead: request 1"))
	require.Contains(t, throttled, "request 1")
	require.Equal(t, throttled, quoted(attempt("a", "got 429 instead: request 2")))
	require.Equal(t, throttled, quoted(strings.Repeat(attempt("b", "instance not found"), 300)), "the node's lines are gone")
	other := quoted(attempt("a", "flavor req-0e2a9d1c-1 has no name"))
	require.Contains(t, other, "flavor req-0e2a9d1c-1 has no name")
	require.Equal(t, other, quoted(attempt("a", "flavor req-77aa9d1c-2 has no name")))
	require.Contains(t, quoted(attempt("a", "image req-77aa9d1c-2 has no name")), "image")
}

func TestAQuotedErrorHasNoSecret(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	c.wait("a")
	c.controller.Mask = func(text string) (string, error) { return strings.ReplaceAll(text, "hunter2", "<masked>"), nil }
	c.logs(attempt("a", "login with hunter2 and password=s3cr3t: got 401 instead: ") +
		"I1124 09:03:04.123456       1 node_controller.go:236] error syncing 'a': the log ends in the middle of hunt")
	message := c.notice(t)
	require.Contains(t, message, `("login with <masked> and password=<redacted> got 401 instead:")`)
	require.NotContains(t, message, "hunt")
}

func TestAQuotedErrorOfSeveralLinesHasNoSecretOfSeveralLines(t *testing.T) {
	const secret = "first half\nsecond half"
	c := start(t, `{"platform":"openstack"}`)
	c.wait("a")
	c.controller.Mask = func(text string) (string, error) { return strings.ReplaceAll(text, secret, "<masked>"), nil }
	c.logs(attempt("a", "status code 401: {\n  \"key\": \""+secret+"\"\n}"))
	require.Contains(t, c.notice(t), `("status code 401: { \"key\": \"<masked>\" }")`)
}

func TestACauseStaysUntilAnotherIsKnown(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	c.wait("a")
	c.Exit("m0", 0, "")
	c.settle(t)
	require.Contains(t, c.notice(t), "no cloud-controller-manager of this operator leads")

	c.Start("m0", 1)
	c.Acquire("m0", "second", 2)
	c.pass(t, 3*time.Second)
	require.Equal(t, begin+"node/a (since 2026-11-21T08:59:00Z)"+advice, c.notice(t), "one leads, and has logged nothing")
	c.logs(attempt("a", "got 503 instead: "))
	c.pass(t, 30*time.Second)
	down := c.notice(t)
	require.Contains(t, down, "the cloud's API answers with a server error")

	c.status = http.StatusInternalServerError // the kubelet of m0 hangs
	c.pass(t, 30*time.Second)
	require.Equal(t, down, c.notice(t))
}

func TestTheNodesThatWaitAreReportedByCause(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	c.wait("a", "b", "c")
	c.logs(attempt("a", "instance not found") + attempt("b", "got 429 instead") + attempt("c", "instance not found"))
	c.sync(t)
	since := now.Add(-time.Minute)
	require.Equal(t, []nodecause.Waiting{
		{Cause: nodecause.UnknownMachine, Nodes: 2, Since: since}, {Cause: nodecause.Throttled, Nodes: 1, Since: since},
	}, c.reported)
	require.Equal(t, "UnknownMachine", c.reported[0].Cause.String())

	clear(c.controller.store.waiting)
	c.sync(t)
	require.Empty(t, c.reported)
}

func TestOnAnUnmanagedPlatformNoNodeIsReported(t *testing.T) {
	c := start(t, `{"platform":"none"}`)
	c.reported = []nodecause.Waiting{{Nodes: 1}}
	c.sync(t)
	require.Empty(t, c.reported)
}
