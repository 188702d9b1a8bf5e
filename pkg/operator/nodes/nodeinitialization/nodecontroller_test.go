package nodeinitialization

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
)

// What a cloud-controller-manager of OpenStack logs when it begins to lead while the cloud's network API fails.
const (
	begins = `I1124 09:00:00.000000       1 leaderelection.go:272] "Successfully acquired lease" lock="openshift-cloud-controller-manager/cloud-controller-manager"` + "\n"
	skips  = `E1124 09:00:00.100000       1 instances.go:61] unable to access network v2 API : failed to find network v2 endpoint: got 503 instead: {}` + "\n" +
		`W1124 09:00:00.100000       1 core.go:55] failed to start cloud node controller: cloud provider does not support instances` + "\n" +
		`W1124 09:00:00.100000       1 controllermanager.go:326] Skipping "cloud-node-controller"` + "\n"
	starts  = `I1124 09:00:00.100000       1 controllermanager.go:338] Started "cloud-node-controller"` + "\n"
	chatter = "I1124 09:01:00.000000       1 controller.go:1] Ensuring a load balancer\n"
)

// annotated is what AWS's provider logs of a Service whose annotations are as long as the API server permits.
var annotated = "I1124 09:00:00.000000       1 aws.go:2101] EnsureLoadBalancer(a, map[" + strings.Repeat("x", 260<<10) + "])\n"

// notRunning returns what is known about the node controller of the leader m0.
func (c *cluster) notRunning(t *testing.T) (nodes []string, ok bool) {
	t.Helper()
	c.sync(t)
	_, nodes, ok = c.controller.NodeController.NotRunning(*c.Lease.Spec.HolderIdentity)
	return nodes, ok
}

func TestANodeControllerThatDoesNotRunIsFound(t *testing.T) {
	long := strings.Repeat(chatter, 700)
	for name, tc := range map[string]struct {
		log string
		// want is the error that is quoted, with its parentheses.
		want string
	}{
		"it has skipped the controller": {
			log: begins + skips, want: ` ("failed to find network v2 endpoint: got 503 instead: {}")`,
		},
		"of another provider": {
			log:  begins + strings.Join(strings.SplitAfter(skips, "\n")[1:], ""),
			want: ` ("cloud provider does not support instances")`,
		},
		"it has logged nothing about its nodes since its controller started": {log: begins + starts + chatter},
		"it has logged much since then": {
			log: begins + skips + long, want: ` ("failed to find network v2 endpoint: got 503 instead: {}")`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, `{"platform":"openstack"}`)
			c.logs(tc.log)
			c.wait("a", "b")
			nodes, notRunning := c.notRunning(t)
			if strings.Contains(tc.log, starts) {
				require.False(t, notRunning, "it has half a minute")
				c.pass(t, 30*time.Second)
				nodes, notRunning = c.notRunning(t)
			}
			require.True(t, notRunning)
			require.Equal(t, []string{"a", "b"}, nodes)
			require.Equal(t, begin+`node/a (since 2026-11-21T08:59:00Z), node/b (since 2026-11-21T08:59:00Z): `+
				`the cloud-controller-manager that leads looks at no node`+tc.want+
				`; the operator makes another process the leader, see the condition DeafLeaderNotices`, c.notice(t))
			require.Equal(t, "Deaf", c.reported[0].Cause.String())
		})
	}
}

func TestANodeControllerRunsIf(t *testing.T) {
	long := strings.Repeat(chatter, 700)
	for name, change := range map[string]func(c *cluster){
		"the cloud refuses": func(c *cluster) { c.logs(begins + attempt("a", "got 503 instead: ")) },
		"it logs that it passes by a node": func(c *cluster) {
			c.logs(begins + `E1124 09:00:02.000000       1 node_controller.go:277] node-controller "msg"="unrecognized node type, ` +
				`skip sync node" "error"=null "node"="a"` + "\n")
		},
		"the cloud does not know the machine of one of the nodes": func(c *cluster) {
			c.logs(begins + attempt("b", "instance not found"))
		},
		"it waits for the cloud": func(c *cluster) {
			c.logs(begins + "I1124 09:03:04.123456       1 node_controller.go:432] Initializing node b with cloud provider\n")
		},
		"it has initialized another node": func(c *cluster) {
			c.logs(begins + "I1124 09:03:04.123456       1 node_controller.go:477] Successfully initialized node b with cloud provider\n")
		},
		"its cloud takes long to answer, so its controllers have not started": func(c *cluster) { c.logs(begins + chatter) },
		"it has begun to lead moments ago":                                    func(c *cluster) { c.logs(begins + skips); c.Acquire("m1", "second", 0) },
		"its log was rotated":                                                 func(c *cluster) { c.logs(chatter) },
		"a node was initialized meanwhile, whatever the log says": func(c *cluster) {
			c.logs(begins + skips)
			require.NoError(t, c.controller.investigate(t.Context(), []string{"a", "b"}))
			b := node("b", time.Hour)
			b.Spec.ProviderID = "openstack:///b"
			require.False(t, c.controller.store.isRelevant(b))
			c.clock.Step(logInterval)
			c.Lease.Spec.RenewTime.Time = c.clock.Now()
		},
		"the log between its begin and its end is not read": func(c *cluster) {
			c.logs(begins + long)
		},
		"a tenant makes it log a long line before its first attempt": func(c *cluster) {
			c.logs(begins + annotated + attempt("a", "got 503 instead: "))
		},
		"it says itself that it looks at nodes, whatever the log says": func(c *cluster) {
			c.logs(begins + skips)
			c.started = []string{"cloud-node-controller", "cloud-node-lifecycle-controller"}
		},
		"its log cannot be read": func(c *cluster) { c.logs(begins + skips); c.status = 500 },
		"no process leads":       func(c *cluster) { c.logs(begins + skips); c.Exit("m0", 0, "") },
		"no node waits":          func(c *cluster) { c.logs(begins + skips); clear(c.controller.store.waiting) },
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, `{"platform":"openstack"}`)
			c.wait("a", "b")
			change(c)
			c.settle(t)
			_, notRunning := c.notRunning(t)
			require.False(t, notRunning)
		})
	}
}

// A tenant can push attempts out of what is read, and write the begin of a lead, but not the time in the lease.
func TestATenantThatFakesANewLeadHidesNoNodeController(t *testing.T) {
	long := attempt("a", "got 503 instead: ") + strings.Repeat(chatter, 700)
	acquires := strings.Replace(begins, "1124", "1121", 1)
	for name, tc := range map[string]struct {
		log  string
		want bool
	}{
		"the tenant's line is of another time than the lease": {strings.Replace(acquires, "09:00:00", "09:00:11", 1), false},
		"the line is of the same time":                        {acquires, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, `{"platform":"openstack"}`)
			c.Acquire("m0", "process", 0)
			c.Lease.Spec.RenewTime.Time = now
			c.settle(t)
			c.pass(t, time.Minute)
			c.logs(long + tc.log + starts)
			c.wait("a")
			c.notRunning(t)
			c.pass(t, 30*time.Second)
			_, notRunning := c.notRunning(t)
			require.Equal(t, tc.want, notRunning)
		})
	}
}

// Where a cloud-node-manager initializes nodes, no leader does.
func TestOnlyTheInitializerOfNodesNeedsANodeController(t *testing.T) {
	c := start(t, `{"platform":"azure","cloudNodeManagerImage":"registry/cnm:1"}`)
	c.logs(begins + skips)
	c.wait("a")
	_, notRunning := c.notRunning(t)
	require.False(t, notRunning)
	require.Empty(t, c.reads)
}

func TestANodeControllerCountsAsNotRunningAsLongAsTheEvidenceLasts(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	c.logs(begins + skips)
	c.wait("a")
	for range 3 {
		_, notRunning := c.notRunning(t)
		require.True(t, notRunning)
		c.pass(t, 10*time.Second) // the log is not read again
	}
	c.status = 500
	c.pass(t, 30*time.Second)
	_, notRunning := c.notRunning(t)
	require.False(t, notRunning, "what is not known is no evidence")
	require.NotEqual(t, nodecause.NoNodeController, c.controller.investigation.findings["a"].class)

	c.status = 0
	c.pass(t, 30*time.Second)
	_, notRunning = c.notRunning(t)
	require.True(t, notRunning)
	clear(c.controller.store.waiting)
	_, notRunning = c.notRunning(t)
	require.False(t, notRunning, "no node waits any more")
}

func TestOnAnUnmanagedPlatformNoNodeControllerIsMissed(t *testing.T) {
	c := start(t, `{"platform":"none"}`)
	c.controller.NodeController.See(*c.Lease.Spec.HolderIdentity, nil, now)
	_, notRunning := c.notRunning(t)
	require.False(t, notRunning)
}
