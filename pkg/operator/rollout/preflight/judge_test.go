package preflight

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

const (
	errorAt = "E1125 19:00:00.000000       1 node_controller.go:277] "
	lookup  = errorAt + "Error getting instance metadata for node addresses: "
	// passesBy is about a node that waits to be initialized.
	passesBy = "I1125 19:00:00.000000       1 node_controller.go:272] This node w1 is still tainted. Will not process.\n"

	// skips is the log of a process of OpenStack's that leads without the controller of nodes.
	skips = `I1125 19:00:00.000000       1 leaderelection.go:272] "Successfully acquired lease" lock="ns/ccm"` + "\n" +
		"E1125 19:00:00.000000       1 instances.go:61] unable to access compute v2 API : failed to find compute v2 endpoint " +
		"for region RegionTwo: No suitable endpoint could be found in the service catalog.\n" +
		"W1125 19:00:00.000000       1 core.go:55] failed to start cloud node controller: cloud provider does not support " +
		"instances\n" +
		`W1125 19:00:00.000000       1 controllermanager.go:326] Skipping "cloud-node-controller"` + "\n"

	// begins is the log of one that begins to look up nodes.
	begins = `I1125 19:00:00.000000       1 leaderelection.go:272] "Successfully acquired lease" lock="ns/ccm"` + "\n" +
		`I1125 19:00:00.000000       1 controllermanager.go:338] Started "cloud-node-controller"` + "\n"

	// denied is about the right to list Services, which a preflight on OpenStack does not have.
	denied = errorAt + `"Failed to watch" err="failed to list *v1.Service: services is forbidden: User ` +
		`\"system:serviceaccount:openshift-cloud-controller-manager:cloud-controller-manager-preflight\" cannot list resource ` +
		`\"services\" in API group \"\" at the cluster scope" reflector="k8s.io/client-go" type="*v1.Service"` + "\n"

	fatalAt = "F1125 19:00:00.000000       1 controllermanager.go:222] "
)

// withSandbox lets only the image be missing.
func withSandbox(e *evidence) {
	e.pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue}}
}

// login is the action for a login that Keystone rejects.
const login = "check the user, the password, the project and the domains in the credentials, and correct what is wrong"

func TestTheEvidenceOfAPreflight(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended := func(message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error", Message: message}}
	}
	for name, tc := range map[string]struct {
		state  corev1.ContainerState
		change func(*evidence)
		// seconds since the container started, and since the process leads, -1 if it does not.
		runs, leads int

		result         trial.Result
		class, message string
		waitsFor       string
	}{
		"it leads and looked up the nodes": {
			state: running, runs: 6, leads: 5, change: func(e *evidence) { e.log = lookedUp },
			result: trial.Successful, message: "it led and looked up 3 of 3 nodes",
		},
		"one node of three has no machine": {
			state: running, runs: 6, leads: 5, change: func(e *evidence) { e.log = lookup + "instance not found\n" + lookedUp },
			result: trial.Successful, message: "it led and looked up 2 of 3 nodes",
		},
		"what it looks up is refused, and it passes by a node that joins": {
			state: running, runs: 6, leads: 5,
			change: func(e *evidence) {
				e.log = passesBy + lookup + "got 403 instead\n" + lookup + "got 403 instead\n" + lookedUp
			},
			result: trial.Failed, class: "Unauthorized",
			message: `the credentials lack a permission: "got 403 instead"; permit them to read instances and their networks`,
		},
		"it passes by every node": {
			state: running, runs: 6, leads: 5, change: func(e *evidence) { e.log = strings.Repeat(passesBy, 3) + lookedUp },
			result: trial.Inconclusive, class: "NotStarted",
			message: "it led, and looked up no node, because each waits to be initialized",
		},
		"its start proves the change, and it looks up no node": {
			state: running, runs: 6, leads: 5,
			change: func(e *evidence) {
				e.log, e.pod.Annotations = lookedUp, map[string]string{operand.PreflightProofAnnotation: operand.ProvenByStart}
			},
			result: trial.Successful, message: "its start has read from the cloud, and it led; it looks up no node",
		},
		"it has not led for long": {
			state: running, runs: 6, leads: 4, change: func(e *evidence) { e.log = lookedUp },
			waitsFor: "its look-up of the nodes",
		},
		"its usage is longer than its last words": {
			state: ended("  --vmodule moduleSpec   comma-separated list of pattern=N settings\n"), runs: 1, leads: 0,
			change: func(e *evidence) { e.log = "Error: unknown flag: --regoin\nUsage:\n  azure [flags]\n" },
			result: trial.Failed, class: crash,
			message: `it failed: "Error: unknown flag: --regoin"; correct what was changed`,
		},
		"the API server is not ready, and its usage is longer than its last words": {
			state: ended("  --vmodule moduleSpec   comma-separated list of pattern=N settings\n"), runs: 1, leads: 0,
			change: func(e *evidence) {
				e.log = "Error: unable to load configmap based request-header-client-ca-file: the server is currently unable to " +
					"handle the request (get configmaps extension-apiserver-authentication)\nUsage:\n  azure [flags]\n"
			},
			result: trial.Inconclusive, class: notStarted,
			message: `it did not reach the API server, or that was not ready: "Error: unable to load configmap based ` +
				`request-header-client-ca-file: the server is currently unable to handle the request (get configmaps ` +
				`extension-apiserver-authentication)"; check the API server`,
		},
		"its last words are long, and name the cause last": {
			state: ended(fatalAt + "could not init cloud provider: " + strings.Repeat("x", 500) + " x509: unknown authority"),
			runs:  1, leads: 0, result: trial.Failed, class: "Certificate",
			message: `the certificate of the cloud's API is not trusted: "could not init cloud provider: ` + strings.Repeat("x", 119) + "…" +
				strings.Repeat("x", 125) + ` x509: unknown authority"; renew it, for the name that the cloud ` +
				`configuration has for the API, or add its CA to the cloud configuration's CA bundle or to the trusted CA of Proxy`,
		},
		"the cause is on the second line of its last words": {
			state: ended(fatalAt + "cannot fetch token: 400\nResponse: {\"error\":\"invalid_grant\"}\n"),
			runs:  1, leads: 0, result: trial.Failed, class: "Unauthenticated",
			message: `the cloud rejects the credentials: "cannot fetch token: 400 Response: {\"error\":\"invalid_grant\"}"; ` +
				`replace the credentials`,
		},
		"another process leads, and the cloud refuses this one": {
			state: running, runs: 45, leads: -1,
			change: func(e *evidence) { e.holder, e.log = "m2_former", errorAt+"got 403 instead\n" },
			result: trial.Failed, class: "Unauthorized",
			message: `the credentials lack a permission: "got 403 instead"; permit them to read instances and their networks`,
		},
		"another process leads, and this one logs nothing": {
			state: running, runs: 45, leads: -1, change: func(e *evidence) { e.holder = "m2_former" },
			result: trial.Failed, class: hang, message: "within 45s, it logged nothing; correct what was changed",
		},
		"it looks up many nodes, or its cloud is slow": {
			state: running, runs: 344, leads: 340, change: func(e *evidence) { e.log, e.nodes = begins, 500 },
			waitsFor: "its look-up of the nodes",
		},
		"it looks up many nodes, of which one has no machine": {
			state: running, runs: 344, leads: 340,
			change:   func(e *evidence) { e.log, e.nodes = begins+lookup+"instance not found\n", 500 },
			waitsFor: "its look-up of the nodes",
		},
		"it is done with many nodes": {
			state: running, runs: 344, leads: 340, change: func(e *evidence) { e.log, e.nodes = begins+lookedUp, 500 },
			result: trial.Successful, message: "it led and looked up 3 of 3 nodes",
		},
		"it looks up many nodes for too long": {
			state: running, runs: 345, leads: 340, change: func(e *evidence) { e.log, e.nodes = begins, 500 },
			result: trial.Inconclusive, class: "NoAnswer",
			message: `within 5m45s, it looked up no node and logged "Started \"cloud-node-controller\"" last; check that the ` +
				`cloud's API responds`,
		},
		"it looks up more nodes than any preflight waits for": {
			state: running, runs: 645, leads: 640, change: func(e *evidence) { e.log, e.nodes = begins, 5000 },
			result: trial.Inconclusive, class: "NoAnswer",
			message: `within 10m45s, it looked up no node and logged "Started \"cloud-node-controller\"" last; check that the ` +
				`cloud's API responds`,
		},
		"its cloud rejects it beside many nodes": {
			state: running, runs: 45, leads: 40,
			change: func(e *evidence) { e.log, e.nodes = begins+errorAt+"got 403 instead\n", 500 },
			result: trial.Failed, class: "Unauthorized",
			message: `the credentials lack a permission: "got 403 instead"; permit them to read instances and their networks`,
		},
		"it does not lead yet": {state: running, runs: 44, leads: -1, waitsFor: "its look-up of the nodes"},
		"every look-up is forbidden": {
			state: running, runs: 1, leads: 0,
			change: func(e *evidence) { e.log = lookup + "a\n" + lookup + "b\n" + lookup + "got 403 instead\n" + lookedUp },
			result: trial.Failed, class: "Unauthorized",
			message: `the credentials lack a permission: "got 403 instead"; permit them to read instances and their networks`,
		},
		"the cloud does not answer": {
			state: running, runs: 1, leads: 0,
			change: func(e *evidence) {
				e.log = lookup + "a\n" + lookup + "b\n" + lookup + "dial tcp: i/o timeout\n" + lookedUp
			},
			result: trial.Inconclusive, class: "Unreachable",
			message: `the cloud's API cannot be reached from the control plane: "dial tcp: i/o timeout"; check name resolution, ` +
				`routes, firewalls and the cluster's proxy`,
		},
		"its provider could not begin, and it looks up no node": {
			state: running, runs: 1, leads: 0, change: func(e *evidence) { e.log = skips },
			result: trial.Failed, class: "NoEndpoint",
			message: `the cloud has no such API in the region, or the project has not enabled it: "failed to find compute v2 endpoint for region ` +
				`RegionTwo: No suitable endpoint could be found in the service catalog."; correct the region of the cloud ` +
				`configuration and of the credentials, add the API to the cloud's catalog, or enable it in the project`,
		},
		"its provider reached nothing as it began": {
			state: running, runs: 1, leads: 0,
			change: func(e *evidence) {
				e.log = strings.Replace(skips, "No suitable endpoint could be found in the service catalog.", "connection refused", 1)
			},
			result: trial.Inconclusive, class: "Unreachable",
			message: `the cloud's API cannot be reached from the control plane: "failed to find compute v2 endpoint for region ` +
				`RegionTwo: connection refused"; check name resolution, routes, firewalls and the cluster's proxy`,
		},
		"it does not say why it looks up no node": {
			state: running, runs: 1, leads: 0, change: func(e *evidence) { e.log = skips[strings.LastIndex(skips, "W1125"):] },
			result: trial.Failed, class: crash,
			message: `it failed: "it leads without the controller of nodes"; correct what was changed`,
		},
		"it looks up no node by design": {
			state: running, runs: 1, leads: 0,
			change: func(e *evidence) {
				e.log, e.pod.Annotations = skips, map[string]string{operand.PreflightProofAnnotation: operand.ProvenByStart}
			},
			waitsFor: "its look-up of the nodes",
		},
		"its log cannot be read": {
			state: running, runs: 21, leads: 20, change: func(e *evidence) { e.unread = "forbidden" },
			result: trial.Successful, message: "it led for 20s; its log was not read: forbidden",
		},
		"its log cannot be read yet": {
			state: running, runs: 21, leads: 19, change: func(e *evidence) { e.unread = "forbidden" },
			waitsFor: "its look-up of the nodes",
		},
		"its machine ends once it leads": {
			state: running, runs: 44, leads: 43, change: func(e *evidence) { e.unread, e.heldFor = "no route to host", 2*time.Second },
			waitsFor: "its look-up of the nodes",
		},
		"its machine ended once it led": {
			state: running, runs: 45, leads: 44, change: func(e *evidence) { e.unread, e.heldFor = "no route to host", 2*time.Second },
			result: trial.Inconclusive, class: "NotStarted",
			message: "it led for 2s, and its log was not read: no route to host; check the kubelet of node/m1",
		},
		"it hangs at the start": {
			state: running, runs: 45, leads: -1, result: trial.Failed, class: hang,
			message: "within 45s, it logged nothing; correct what was changed",
		},
		"it is no cloud-controller-manager, and its look-ups prove nothing": {
			state: running, runs: 45, leads: 44, change: func(e *evidence) {
				e.log, e.pod.Annotations = "begins\n", map[string]string{operand.PreflightProofAnnotation: operand.ProvenByStart}
			},
			result: trial.Failed, class: "Deaf",
			message: "within 45s, it led, and its controller of nodes did not begin; correct what was changed",
		},
		"its start waits for the cloud, and proves it": {
			state: running, runs: 45, leads: 44, change: func(e *evidence) {
				e.log = "[Nov 25 19:00:00.000000] Request: ==> OUTGOING REQUEST (Try=1)\n"
				e.pod.Annotations = map[string]string{operand.PreflightProofAnnotation: operand.ProvenByStart}
			},
			result: trial.Inconclusive, class: "NoAnswer",
			message: `within 45s, it looked up no node and logged "[Nov 25 19:00:00.000000] Request: ==> OUTGOING REQUEST ` +
				`(Try=1)" last; check that the cloud's API responds`,
		},
		"it leads, logs this and that, and looks up no node": {
			state: running, runs: 45, leads: 44, change: func(e *evidence) { e.log = "I1125 19:00:00.000000       1 a.go:1] leads\n" },
			result: trial.Inconclusive, class: "NoAnswer",
			message: `within 45s, it looked up no node and logged "leads" last; check that the cloud's API responds`,
		},
		"it waits, and may not list Services": {
			state: running, runs: 45, leads: 44, change: func(e *evidence) {
				e.log = errorAt + "the cloud is asked\n" + denied
			},
			result: trial.Inconclusive, class: "NoAnswer",
			message: `within 45s, it looked up no node and logged "the cloud is asked" last; check that the cloud's API responds`,
		},
		"the cloud has no load-balancer API": {
			state: ended(denied + fatalAt + "Failed to create an OpenStack LoadBalancer client: failed to find load-balancer v2 " +
				"endpoint for region RegionOne: No suitable endpoint could be found in the service catalog.\n" + denied),
			result: trial.Failed, class: "NoLoadBalancers",
			message: `the cloud's catalog has no load-balancer API in the region: "Failed to create an OpenStack LoadBalancer ` +
				`client: failed to find load-balancer v2 endpoint for region RegionOne: No suitable endpoint could be found in the ` +
				`service catalog."; set enabled = false in [LoadBalancer] of the cloud configuration, or install Octavia`,
		},
		"it repeats a login that is rejected": {
			state: running, runs: 45, leads: -1, change: func(e *evidence) { e.log = errorAt + "Authentication failed\n" },
			result: trial.Failed, class: "Unauthenticated",
			message: `the cloud rejects the credentials: "Authentication failed"; ` + login,
		},
		"the credentials may be right, and the clock wrong": {
			state:  ended(fatalAt + "api error AuthFailure: AWS was not able to validate the provided access credentials\n"),
			result: trial.Failed, class: "Unauthenticated",
			message: `the cloud rejects the credentials, or the time of the control plane: "api error AuthFailure: AWS was not ` +
				`able to validate the provided access credentials"; check the time of the control-plane nodes first, with chronyc ` +
				`tracking there: it may be five minutes off at most; if it is right, replace the credentials`,
		},
		"the answer of the cloud comes before the last words": {
			state: ended(errorAt + "unable to access compute v2 API : got 401 instead\n" +
				fatalAt + "error running controllers: cloud provider does not support instances\n"),
			result: trial.Failed, class: "Unauthenticated",
			message: `the cloud rejects the credentials: "unable to access compute v2 API : got 401 instead"; ` +
				`replace the credentials`,
		},
		"it has a flag that it does not know": {
			state: ended("Error: unknown flag: --colour\n"), result: trial.Failed, class: "Crash",
			message: `it failed: "Error: unknown flag: --colour"; correct what was changed`,
		},
		"it says nothing": {
			state: ended(""), result: trial.Failed, class: "Crash",
			message: `it failed: "it ended with exit code 2 and reason \"Error\", without a message"; correct what was changed`,
		},
		"the kernel kills it": {
			state:  corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
			result: trial.Inconclusive, class: "Crash",
			message: `it ended with exit code 137 and reason "OOMKilled"; find what ended it: its kubelet by a probe, the kernel ` +
				`without memory, or a person`,
		},
		"its node restarts": {
			state: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Unknown",
				Message: errorAt + "a warning of long ago\n"}},
			result: trial.Inconclusive, class: "Crash",
			message: `it ended with exit code 255 and reason "Unknown"; find what ended it: its kubelet by a probe, the kernel ` +
				`without memory, or a person`,
		},
		"it ends itself with the last exit code": {
			state: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Error",
				Message: fatalAt + "cloud provider could not be initialized\n"}},
			result: trial.Failed, class: "Crash",
			message: `it failed: "cloud provider could not be initialized"; correct what was changed`,
		},
		"a hundred look-ups of more nodes fail": {
			state: running, runs: 6, leads: 5,
			change: func(e *evidence) {
				e.log = strings.Repeat(lookup+"got 403 instead\n", 100) + strings.Replace(lookedUp, "3", "500", 1)
			},
			result: trial.Inconclusive, class: "Unauthorized",
			message: `the credentials lack a permission: "got 403 instead"; permit them to read instances and their networks`,
		},
		"it lost the API server": {
			state: ended(errorAt + "leaderelection lost\n"), result: trial.Inconclusive, class: "NotStarted",
			message: `it did not reach the API server, or that was not ready: "leaderelection lost"; check the API server`,
		},
		"the API server is not ready": {
			state: ended("F1121 09:00:01.000000       1 controllermanager.go:348] Failed to wait for apiserver being healthy: timed " +
				"out waiting for the condition: failed to get apiserver /healthz status: an error on the server\n"),
			result: trial.Inconclusive, class: "NotStarted",
			message: `it did not reach the API server, or that was not ready: "Failed to wait for apiserver being healthy: timed ` +
				`out waiting for the condition: failed to get apiserver /healthz status: an error on the server"; check the API server`,
		},
		"the API server's etcd changes its leader": {
			state:  ended(fatalAt + "error running controllers: etcdserver: leader changed\n"),
			result: trial.Inconclusive, class: "NotStarted",
			message: `it did not reach the API server, or that was not ready: "error running controllers: etcdserver: leader ` +
				`changed"; check the API server`,
		},
		"its node shuts down": {
			state: ended(""), change: func(e *evidence) {
				e.pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Terminated", Message: "node shutdown"}
			},
			result: trial.Inconclusive, class: "NotStarted", message: "the kubelet ended pod/preflight: Terminated node shutdown",
		},
		"its image is pulled": {
			state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "denied"}},
			runs:  119, leads: -1, waitsFor: "the start of pod/preflight on node/m1 (ErrImagePull: denied)",
		},
		"its image takes minutes to be pulled": {
			state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
			runs:  599, leads: -1, waitsFor: "the start of pod/preflight on node/m1", change: withSandbox,
		},
		"its image is not pulled in ten minutes": {
			state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
			runs:  600, leads: -1, result: trial.Inconclusive, class: "NotStarted", change: withSandbox,
			message: "it waits for the start of pod/preflight on node/m1; check the image and the node",
		},
		"its container is not created": {
			state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
			runs:  120, leads: -1, result: trial.Inconclusive, class: "NotStarted",
			message: "it waits for the start of pod/preflight on node/m1; check the image and the node",
		},
		"its image is not pulled": {
			state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "denied"}},
			runs:  1, leads: -1, result: trial.Inconclusive, class: "ImageNotPulled",
			message: "it waits for the start of pod/preflight on node/m1 (ImagePullBackOff: denied); correct the image, or check its registry",
		},
		"its image is not pulled, and is what changes": {
			state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "denied"}},
			runs:  1, leads: -1, change: func(e *evidence) { e.changesImage = true },
			result: trial.Failed, class: "ImageNotPulled",
			message: "it waits for the start of pod/preflight on node/m1 (ImagePullBackOff: denied); correct the image, or check its registry",
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := controlplanetest.Begin
			e := &evidence{
				now: start.Add(time.Duration(tc.runs) * time.Second), since: start, startedAt: start,
				pod: &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: "preflight"}, Spec: corev1.PodSpec{NodeName: "m1"},
					Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
						{Name: "cloud-controller-manager", State: tc.state},
					}},
				},
			}
			if tc.leads >= 0 && tc.state.Running != nil {
				e.heldFor = time.Duration(tc.leads) * time.Second
				e.ledAt = e.now.Add(-e.heldFor)
			}
			if tc.change != nil {
				tc.change(e)
			}
			verdict, waitsFor := e.judge()
			require.Equal(t, tc.waitsFor, waitsFor)
			if tc.result == "" {
				require.Nil(t, verdict)
				return
			}
			require.NotNil(t, verdict)
			require.Equal(t, []string{string(tc.result), tc.class, tc.message, "m1"},
				[]string{string(verdict.Result), verdict.Class, verdict.Message, verdict.Node})
		})
	}
}

func TestAVerdictHasLittleOfWhatAKubeletWrites(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	for name, status := range map[string]corev1.PodStatus{
		"the kubelet ended the pod": {Phase: corev1.PodFailed, Reason: huge, Message: huge},
		"the container waits": statusOf(corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: huge, Message: huge},
		}),
		"the container ended": statusOf(corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: huge, ExitCode: 1},
		}),
		"a signal ended the container": statusOf(corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: huge, ExitCode: 137},
		}),
	} {
		t.Run(name, func(t *testing.T) {
			e := &evidence{pod: &corev1.Pod{Status: status}}
			verdict, text := e.judge()
			if verdict != nil {
				text += verdict.Message
			}
			require.Less(t, len(text), 1<<10)
		})
	}
}

func statusOf(state corev1.ContainerState) corev1.PodStatus {
	return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: operand.Name, State: state}}}
}

// The kubelet or the kernel ends a process by a signal, which shows nothing about the candidate.
func TestAProcessThatASignalEndedShowsNothing(t *testing.T) {
	for code, want := range map[int32]trial.Result{
		1: trial.Failed, 128: trial.Failed, 129: trial.Inconclusive, 137: trial.Inconclusive, 192: trial.Inconclusive,
		193: trial.Failed,
	} {
		end := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", Message: "it crashed"}
		require.Equal(t, want, (&evidence{pod: &corev1.Pod{}}).ended(end).Result, "exit code %d", code)
	}
}

// Tenants can write lines of the leader's log. They decide when the next preflight is, and no result.
func TestAVerdictIsComparedWithWhatTheLeaderIsAnswered(t *testing.T) {
	works := nodecause.Lookups{Ended: true, Nodes: 3}
	refused := nodecause.Lookups{Ended: true, Nodes: 3, Failed: 3, Error: "got 403 instead"}
	for name, tc := range map[string]struct {
		result  trial.Result
		class   string
		leader  nodecause.Lookups
		message string
	}{
		"the leader is refused too":         {trial.Failed, "Unauthorized", refused, "it failed; the running one fails too"},
		"the leader is refused otherwise":   {trial.Failed, "Unauthenticated", refused, "it failed"},
		"the leader works":                  {trial.Failed, "Unauthorized", works, "it failed"},
		"only the leader reaches the cloud": {trial.Inconclusive, "Unreachable", works, "it failed"},
		"the leader has looked up nothing":  {trial.Failed, "Unauthorized", nodecause.Lookups{}, "it failed"},
		"the leader has no node to look up": {trial.Failed, "Unauthorized", nodecause.Lookups{Ended: true, Error: "got 403 instead"}, "it failed"},
		"one node of the leader is refused": {trial.Failed, "Unauthorized", nodecause.Lookups{Ended: true, Nodes: 3, Failed: 2, Error: "got 403 instead"}, "it failed"},
	} {
		t.Run(name, func(t *testing.T) {
			compared := compare(&trial.Verdict{Result: tc.result, Class: tc.class, Message: "it failed"}, tc.leader)
			require.Equal(t, &trial.Verdict{
				Result: tc.result, Class: tc.class, Message: tc.message, LeaderRejected: tc.message != "it failed",
			}, compared)
		})
	}
}

func TestWhenTheLeadersLoginIsRejected(t *testing.T) {
	const attempt = errorAt + `error syncing 'w1': failed to get instance metadata for node w1: got 401 instead, requeuing` + "\n"
	for name, tc := range map[string]struct {
		log  string
		want bool
	}{
		"nothing is logged":          {"", false},
		"its round works":            {lookedUp, false},
		"its round is rejected":      {strings.Repeat(lookup+"Authentication failed\n", 3) + lookedUp, true},
		"its round is forbidden":     {strings.Repeat(lookup+"got 403 instead\n", 3) + lookedUp, false},
		"one look-up is rejected":    {lookup + "Authentication failed\n" + lookedUp, false},
		"a node that waits gets 401": {attempt, true},
	} {
		require.Equal(t, tc.want, rejectsLogin(tc.log), name)
	}
}

// Its kubelet would end it before the operator judges it.
func TestAPreflightOutlivesThePatienceWithIt(t *testing.T) {
	var pod corev1.Pod
	require.NoError(t, yaml.Unmarshal(bindata.MustRead("assets/pod/preflight-patch.yaml"), &pod))
	all := podStartTimeout + pullTimeout + lookupTimeout + maxLookupTimeout
	require.Greater(t, *pod.Spec.ActiveDeadlineSeconds, int64(all.Seconds()))
}

// Annotations that a provider logs can contain line breaks.
func TestNoLineOfAValueIsTheErrorOfAProcess(t *testing.T) {
	const lost = errorAt + "leaderelection lost\n"
	for _, words := range []string{
		"panic: Authentication failed", "fatal error: Authentication failed", "Error: Authentication failed",
		"Evil: Authentication failed", "Warning: Authentication failed", "Authentication failed",
	} {
		t.Run(words, func(t *testing.T) {
			log := "I1125 19:00:00.000000       1 loadbalancer.go:389] annotation x\n" + words + "\n" + lost
			require.Equal(t, "leaderelection lost", errorOf(log))
			require.Empty(t, usageError(log))
			e := &evidence{pod: &corev1.Pod{}, log: log}
			verdict := e.ended(&corev1.ContainerStateTerminated{ExitCode: 1, Message: log})
			require.Equal(t, trial.Inconclusive, verdict.Result)
			require.Contains(t, verdict.Message, "it did not reach the API server")
		})
	}
}

// aboutServices are lines of cloud-controller-managers with what the owner of a Service or a namespace has chosen: an
// annotation, a name or the message of an Event.
var aboutServices = []string{
	"W1125 19:00:00.000000       1 controller.go:299] error processing service shop/authfailure (retrying in 5s): %s\n",
	`E1125 19:00:00.000000       1 controller.go:302] "Unhandled Error" err="error processing service shop/a (retrying with ` +
		`exponential backoff): failed to ensure load balancer: %s" logger="UnhandledError"` + "\n",
	`E1125 19:00:00.000000       1 controller.go:762] "Unhandled Error" err="failed to update load balancer hosts for service ` +
		`shop/a: %s" logger="UnhandledError"` + "\n",
	`E1125 19:00:00.000000       1 controller.go:853] "Unhandled Error" err="failed to check if load balancer exists for ` +
		`service shop/a: %s" logger="UnhandledError"` + "\n",
	`W1125 19:00:00.000000       1 loadbalancer.go:445] Could not parse int value from "%s", failing back to default a = 1` + "\n",
	"E1125 19:00:00.000000       1 loadbalancers.go:300] failed to build load-balancer request: invalid annotation value %s\n",
	"W1125 19:00:00.000000       1 azure_loadbalancer_backendpool.go:283] bc.GetBackendPrivateIPs for service (%s): failed\n",
	"E1125 19:00:00.000000       1 gce_loadbalancer_internal.go:1] ensureInternalLoadBalancer(%s): failed\n",
	`E1125 19:00:00.000000       1 service_controller.go:233] "reconcile" err="annotation %s"` + "\n",
	`E1125 19:00:00.000000       1 event.go:359] "Server rejected event (will not retry!)" err="namespaces not found" ` +
		`event="&Event{Message:%s}"` + "\n",
}

func TestNoWordOfTheOwnerOfAServiceIsTheErrorOfAProcess(t *testing.T) {
	for name, tc := range map[string]struct{ last, class string }{
		"it could not renew its lease":      {errorAt + "leaderelection lost\n", notStarted},
		"its port is in use":                {inUse, crash},
		"it logs no error":                  {"I1125 19:00:00.000000       1 a.go:1] shutting down\n", crash},
		"its cloud cannot be reached":       {errorAt + "dial tcp 192.0.2.1:443: i/o timeout\n", "Unreachable"},
		"its cloud rejects it, and it ends": {errorAt + "got 403 instead\n" + fatalAt + "cannot start\n", "Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, line := range aboutServices {
				for _, words := range []string{
					"Authentication failed", "connection refused", "x\nAuthentication failed", "x\npanic: got 503 instead",
				} {
					about := strings.Replace(line, "%s", words, 1)
					logs := []string{about + tc.last, about + tc.last + about + "I1125 19:00:00.000000       1 a.go:1] m\n"}
					for _, log := range logs {
						e := &evidence{pod: &corev1.Pod{}, log: log}
						verdict := e.ended(&corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: log})
						require.Equal(t, tc.class, verdict.Class, log)
					}
				}
			}
		})
	}
}

// A provider may log an annotation elsewhere. Its owner can delay that a revision is taken back, and no more: its second
// end does that.
func TestWhatTheOwnerOfAServiceWritesElsewhereOnlyDelaysAVerdict(t *testing.T) {
	for _, words := range []string{"Authentication failed", "connection refused", "got 403 instead", "no such host"} {
		other := "W1125 19:00:00.000000       1 aws.go:3192] Ignoring empty security group in " + words + "\n"
		t.Run(words, func(t *testing.T) {
			e := &evidence{pod: &corev1.Pod{}}
			lost := &corev1.ContainerStateTerminated{ExitCode: 1, Message: other + errorAt + "leaderelection lost\n"}
			require.Equal(t, notStarted, e.ended(lost).Class)
			w := newFirst(t)
			for range 2 {
				w.ended(t, "m1", 1, corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Error", Message: other + inUse})
				if w.record(t).State == trial.ProofFailed {
					break
				}
				now := int(w.clock.Since(controlplanetest.Begin).Seconds())
				w.Start("m1", now)
				w.takesLead("m0", now+2)
				w.renews(t, 10*time.Minute+30*time.Second)
			}
			require.Equal(t, trial.ProofFailed, w.record(t).State)
			require.Len(t, w.rejected(t), 1)
		})
	}
}
