package report_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/snapshottest"
)

// read reads what the commands read, with the leader's log.
func read(t *testing.T, c *snapshottest.Cluster, more ...snapshot.Query) *snapshot.Snapshot {
	t.Helper()
	client, err := snapshot.NewClient(c.Serve(t))
	require.NoError(t, err)
	shot, err := client.Read(t.Context(), report.LeadingPod, more...)
	require.NoError(t, err)
	return shot
}

func requireExplained(t *testing.T, name string, e *report.Explanation, err error) {
	t.Helper()
	require.NoError(t, err)
	require.Equal(t, e.Cause == "", e.Action == "", "a cause has an action")
	var out bytes.Buffer
	require.NoError(t, e.WriteText(&out, false))
	requireWrapped(t, out.String())
	requireGolden(t, "explain/"+name+".txt", out.String())
}

// requireWrapped requires lines of at most Width columns, unless one is a command.
func requireWrapped(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "oc ") {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), report.Width, line)
		}
	}
}

// waitsUnnamed makes a worker wait that the operator has not named yet.
func waitsUnnamed(w *world) {
	nodesWait(w)
	w.condition("NodeInitializationDegraded", "False", "AsExpected", "")
}

// waits makes a worker wait whose last attempt failed with the error, before the operator has named it.
func waits(failure string) func(*world) {
	return func(w *world) {
		waitsUnnamed(w)
		w.Logs["cloud-controller-manager-master-0"] = "I1121 09:00:10.123456       1 node_controller.go:236] error syncing 'worker-1': " +
			"failed to get instance metadata for node worker-1: " + failure + ", requeuing\n"
	}
}

func TestANodeIsExplained(t *testing.T) {
	for name, change := range map[string]func(*world){
		"initialized":     func(w *world) { w.worker("worker-1") },
		"missing":         func(*world) {},
		"unknown-machine": waits("instance not found"),
		"throttled":       waits("Expected HTTP response code [200] but got 429 instead"),
		"named-in-the-condition": func(w *world) {
			nodesWait(w)
			w.Forbidden = []string{"log"}
		},
		"named-in-the-condition-and-in-the-log": func(w *world) {
			waits("Expected HTTP response code [200] but got 429 instead")(w)
			nodesWait(w)
		},
		"not-among-the-first": func(w *world) {
			nodesWait(w)
			w.condition("NodeInitializationDegraded", "True", "NodesUninitialized", "not initialized by the cloud-controller-manager: "+
				"node/worker-10 and 2 more: a quota of the cloud is exhausted; raise the quota that the error names")
			w.Forbidden = []string{"log"}
		},
		"no-leader": func(w *world) {
			waitsUnnamed(w)
			noLeader(w)
		},
		"deaf-leader": func(w *world) {
			waitsUnnamed(w)
			w.condition("DeafLeaderNotices", "True", "LeaderDeaf", "the leader looks at no node")
		},
		"deaf-leader-that-says-why": func(w *world) {
			waitsUnnamed(w)
			w.condition("DeafLeaderNotices", "True", "LeaderDeaf", "the leader looks at no node")
			w.Logs["cloud-controller-manager-master-0"] = "W1121 09:00:09.100000       1 core.go:55] failed to start cloud node " +
				"controller: Expected HTTP response code [200] but got 503 instead\n"
		},
		"without-the-taint": func(w *world) { w.worker("worker-1").Spec.ProviderID = "" },
		"no-platform": func(w *world) {
			nodesWait(w)
			platformNone(w)
		},
		"operator-down": func(w *world) {
			waits("instance not found")(w)
			nodesWait(w)
			operatorDown(w)
		},
		"removed": func(w *world) {
			nodesWait(w)
			isRemoved(w)
		},
		"being-removed": func(w *world) {
			nodesWait(w)
			isBeingRemoved(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			change(w)
			e, err := report.ExplainNode(read(t, w.cluster()), "worker-1")
			requireExplained(t, "node-"+name, e, err)
		})
	}
}

func silentWorker(w *world) *corev1.Node {
	node := w.worker("worker-3")
	node.Status.Conditions[0].Status = corev1.ConditionUnknown
	return node
}

func announced(w *world) {
	w.More = append(w.More, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "worker-3.1"}, Reason: "DeletingNode",
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "worker-3", UID: "worker-3"},
		Source:         corev1.EventSource{Component: "cloud-node-lifecycle-controller"}, LastTimestamp: metav1.NewTime(now),
	})
}

// asked is what the leader logs if the cloud does not tell whether the machine of worker-3 exists.
func asked(answer string) string {
	return "E1121 08:59:10.123456       1 node_lifecycle_controller.go:156] error checking if node worker-3 " + answer + "\n"
}

func denied(why string) string {
	return `E1121 08:59:10.123456       1 node_lifecycle_controller.go:177] unable to delete node "worker-3": ` + why + "\n"
}

func TestADeletionIsExplained(t *testing.T) {
	for name, change := range map[string]func(*world){
		"kubelet-reports":   func(w *world) { w.worker("worker-3") },
		"done":              func(*world) {},
		"never-initialized": func(w *world) { silentWorker(w).Spec.ProviderID = "" },
		"held-by-a-finalizer": func(w *world) {
			node := silentWorker(w)
			node.DeletionTimestamp, node.Finalizers = ptr.To(metav1.NewTime(now)), []string{"karpenter.sh/termination"}
		},
		"not-wanted": func(w *world) { silentWorker(w) },
		"not-confirmed": func(w *world) {
			silentWorker(w)
			announced(w)
		},
		"confirmed": func(w *world) {
			silentWorker(w).Annotations = map[string]string{"cloudcontrollermanager.operator.openshift.io/node-deletion": "Confirmed"}
			announced(w)
		},
		"held": func(w *world) {
			silentWorker(w)
			nodesWait(w)
			announced(w)
		},
		"announced-about-a-former-node-of-the-name": func(w *world) {
			silentWorker(w).UID = "another"
			announced(w)
		},
		"announced-before-the-kubelet-came-back": func(w *world) {
			silentWorker(w).Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(time.Second))
			announced(w)
		},
		"announced-by-a-former-leader": func(w *world) {
			silentWorker(w)
			announced(w)
			w.plane.Acquire("master-1", "second", 30)
		},
		"the-cloud-rejects-the-question": func(w *world) {
			silentWorker(w)
			w.Logs["cloud-controller-manager-master-0"] = asked("exists: got 401 instead: {}")
		},
		"the-cloud-does-not-know-the-question": func(w *world) {
			silentWorker(w)
			w.Logs["cloud-controller-manager-master-0"] = asked("exists: got 401 instead: {}") + asked("is shutdown: instance not found")
		},
		// cloud-provider-openstack#3225
		"the-api-server-denies-it": func(w *world) {
			silentWorker(w)
			announced(w)
			w.Logs["cloud-controller-manager-master-0"] = denied(`nodes "worker-3" is forbidden: User "system:serviceaccount:` +
				`openshift-cloud-controller-manager:cloud-controller-manager" cannot delete resource "nodes" in API group "" at the cluster scope`)
		},
		"the-operators-policy-denies-it": func(w *world) {
			silentWorker(w)
			announced(w)
			w.Logs["cloud-controller-manager-master-0"] = denied(`nodes "worker-3" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'a' ` +
				"denied request: the operator has not confirmed the deletion")
		},
		"the-cloud-rejected-the-question-before-the-kubelet-came-back": func(w *world) {
			silentWorker(w).Status.Conditions[0].LastTransitionTime = metav1.NewTime(now)
			w.Logs["cloud-controller-manager-master-0"] = asked("exists: got 401 instead: {}")
		},
		"the-machine-runs-under-another-name": func(w *world) {
			silentWorker(w)
			w.worker("worker-4").Spec.ProviderID = "openstack:///worker-3"
		},
		"the-machine-is-stopped": func(w *world) {
			silentWorker(w).Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/shutdown", Effect: corev1.TaintEffectNoSchedule}}
		},
		"another-is-held": func(w *world) {
			silentWorker(w)
			w.condition("NodeDeletionDegraded", "True", "NoLivingNode", "the cloud-controller-manager wants to delete node/worker-30, but there is no other node")
			announced(w)
		},
		"no-leader": func(w *world) {
			silentWorker(w)
			noLeader(w)
		},
		"removed": func(w *world) {
			silentWorker(w)
			isRemoved(w)
		},
		"no-platform": func(w *world) {
			silentWorker(w)
			platformNone(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			change(w)
			e, err := report.ExplainDeletion(read(t, w.cluster(), snapshot.NodeEvents()...), "worker-3")
			requireExplained(t, "deletion-"+name, e, err)
		})
	}
}

func balanced(w *world) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "frontend", Finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	w.More = append(w.More, service)
	return service
}

func warned(w *world, message string) {
	balanced(w)
	w.More = append(w.More, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "frontend.1"}, Reason: "SyncLoadBalancerFailed", Type: "Warning", Message: message,
		InvolvedObject: corev1.ObjectReference{Kind: "Service", Name: "frontend"},
		Source:         corev1.EventSource{Component: "service-controller"}, LastTimestamp: metav1.NewTime(now),
	})
}

func serviceWaits(w *world) {
	w.condition("LoadBalancerNotices", "True", "ServicesWaiting", "Services of type LoadBalancer that wait for the "+
		"cloud-controller-manager: 1: service/frontend in shop (without an address since 2026-11-21T08:00:00Z); the quotes are Events, which "+
		"tenants can write, too: compare them with the leader's log, and correct what they name; where there is none, check that a "+
		"cloud-controller-manager leads, and that the cloud configuration enables load balancers")
}

func TestAServiceIsExplained(t *testing.T) {
	for name, change := range map[string]func(*world){
		"missing":      func(*world) {},
		"another-type": func(w *world) { balanced(w).Spec.Type = corev1.ServiceTypeClusterIP },
		"with-a-class": func(w *world) { balanced(w).Spec.LoadBalancerClass = ptr.To("example.com/lb") },
		"of-the-ccms-class-on-alibaba-cloud": func(w *world) {
			on("alibabacloud")(w)
			balanced(w).Spec.LoadBalancerClass = ptr.To("alibabacloud.com/nlb")
		},
		"with-a-class-and-balanced": func(w *world) {
			service := balanced(w)
			service.Spec.LoadBalancerClass = ptr.To("example.com/lb")
			service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		},
		"handed-over-on-aws": func(w *world) {
			on("aws")(w)
			balanced(w).Annotations = map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "external"}
		},
		"of-the-ccm-on-aws": func(w *world) {
			on("aws")(w)
			balanced(w).Annotations = map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
		},
		"with-an-annotation-of-aws": func(w *world) {
			balanced(w).Annotations = map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "external"}
		},
		"handed-over-on-gcp": func(w *world) {
			on("gcp")(w)
			balanced(w).Annotations = map[string]string{"cloud.google.com/l4-rbs": "enabled"}
		},
		"internal-on-gcp": func(w *world) {
			on("gcp")(w)
			balanced(w).Annotations = map[string]string{
				"cloud.google.com/l4-rbs": "enabled", "networking.gke.io/load-balancer-type": "Internal",
			}
		},
		"balanced": func(w *world) {
			balanced(w).Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}, {Hostname: "lb.example.com"}}
		},
		"silent": func(w *world) { balanced(w) },
		"quota": func(w *world) {
			warned(w, "Error syncing load balancer: failed to ensure load balancer: Quota exceeded for resources: ['floatingip']")
		},
		"no-endpoint": func(w *world) {
			warned(w, "Error syncing load balancer: failed to ensure load balancer: No suitable endpoint could be found in the "+
				"service catalog.")
		},
		"other": func(w *world) {
			warned(w, "Error syncing load balancer: failed to ensure load balancer: the flavor has no name")
		},
		"no-nodes": func(w *world) {
			warned(w, "There are no available nodes for LoadBalancer")
		},
		"blocked-by-a-node": func(w *world) {
			w.worker("worker-1").Spec.ProviderID = ""
			warned(w, "Error syncing load balancer: failed to ensure load balancer: error getting server ID from the node: "+
				`ProviderID "" didn't match expected format "openstack://region/InstanceID"`)
		},
		"no-leader": func(w *world) {
			balanced(w)
			noLeader(w)
		},
		"removed": func(w *world) {
			balanced(w)
			isRemoved(w)
		},
		"named-in-the-condition": func(w *world) {
			balanced(w)
			serviceWaits(w)
		},
		"named-with-the-quote-of-an-old-event": func(w *world) {
			balanced(w)
			serviceWaits(w)
			c := &w.Resource.Status.Conditions[len(w.Resource.Status.Conditions)-1]
			c.Message = strings.Replace(c.Message, "08:00:00Z)", `08:00:00Z; "SyncLoadBalancerFailed: Quota (\"floatingip\"); exceeded")`, 1)
		},
		"named-and-throttled": func(w *world) {
			warned(w, "Error syncing load balancer: Expected HTTP response code [200] but got 429 instead")
			serviceWaits(w)
		},
		"quota-before-the-deletion": func(w *world) {
			warned(w, "Error syncing load balancer: Quota exceeded")
			w.More[len(w.More)-2].(*corev1.Service).DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(time.Second)))
		},
		"quota-of-a-former-leader": func(w *world) {
			warned(w, "Error syncing load balancer: Quota exceeded")
			w.plane.Acquire("master-1", "second", 30)
		},
		"of-a-former-one": func(w *world) {
			warned(w, "Error syncing load balancer: Quota exceeded")
			w.More[len(w.More)-2].(*corev1.Service).UID = "another"
		},
		"deleted-and-held-by-another-controller": func(w *world) {
			service := balanced(w)
			service.DeletionTimestamp, service.Finalizers = ptr.To(metav1.NewTime(now)), []string{"service.k8s.aws/resources"}
			service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		},
		"deleted-after-a-change-of-its-type": func(w *world) {
			service := balanced(w)
			service.DeletionTimestamp, service.Spec.Type = ptr.To(metav1.NewTime(now)), corev1.ServiceTypeClusterIP
		},
		"deleted": func(w *world) { balanced(w).DeletionTimestamp = ptr.To(metav1.NewTime(now)) },
		"no-platform": func(w *world) {
			platformNone(w)
			balanced(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			change(w)
			e, err := report.ExplainService(read(t, w.cluster(), snapshot.Service("shop", "frontend")...), "shop", "frontend")
			requireExplained(t, "service-"+name, e, err)
		})
	}
}

func TestARolloutIsExplained(t *testing.T) {
	for name, change := range map[string]func(*world){
		"done": func(*world) {},
		"in-progress": func(w *world) {
			rollsOut(w)
			w.More = append(w.More, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: targetNamespace, Name: "installer-8-master-1"},
				Spec:       corev1.PodSpec{NodeName: "master-1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
			})
		},
		"kubelets-down": func(w *world) {
			rollsOut(w)
			w.condition("NodeControllerDegraded", "True", "MasterNodesReady", "The master nodes not ready: node \"master-0\"")
			for name, ready := range map[string]corev1.ConditionStatus{"master-0": corev1.ConditionFalse, "master-1": corev1.ConditionUnknown} {
				w.plane.Nodes[name].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
			}
		},
		"image-pull": func(w *world) {
			rollsOut(w)
			w.condition("ImagePullDegraded", "True", "ImagePull", "node/master-1 cannot pull the image; correct the image")
		},
		"failed": func(w *world) {
			rollsOut(w)
			status := w.Nodes("master-1")
			status.LastFailedRevision, status.LastFailedRevisionErrors = 8, []string{"the installer exited with 1"}
			w.condition("NodeInstallerDegraded", operatorv1.ConditionTrue, "InstallerPodFailed", "1 node is failing on revision 8")
		},
		"held-back": func(w *world) {
			w.condition("RevisionHeldBackDegraded", "True", "Waits", "the accepted configuration waits for secret/cloud-tokens; see CloudTokensDegraded")
		},
		"evicted": func(w *world) {
			w.plane.Ready("master-1", false)
			w.plane.Pods["master-1"].Status.Phase, w.plane.Pods["master-1"].Status.Reason = corev1.PodFailed, "Evicted"
		},
		"not-ready": func(w *world) { w.plane.Ready("master-1", false) },
		"no-revision": func(w *world) {
			w.Resource.Status.LatestAvailableRevision, w.Resource.Status.NodeStatuses, w.plane.Pods = 0, nil, nil
		},
		"no-revision-as-an-input-is-rejected": func(w *world) {
			w.Resource.Status.LatestAvailableRevision, w.Resource.Status.NodeStatuses, w.plane.Pods = 0, nil, nil
			inputRejected(w)
		},
		"take-over": func(w *world) {
			rollsOut(w)
			w.condition("TakingOver", "True", "WaitingForKubeControllerManager", "kube-controller-manager runs the cloud controllers")
		},
		"input-rejected": inputRejected,
		"input-left-out": func(w *world) {
			w.condition("TrustedCADegraded", "True", "LeftOut", "configmap/user-ca-bundle in openshift-config: it does not exist")
		},
		"image-rejected": func(w *world) {
			w.condition("ImageDegraded", "True", "Refused", "the release payload: a cloud-controller-manager with the changed inputs failed")
		},
		"change-waits":  preflightWaits,
		"no-platform":   platformNone,
		"removed":       isRemoved,
		"being-removed": isBeingRemoved,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			change(w)
			e, err := report.ExplainRollout(read(t, w.cluster()))
			requireExplained(t, "rollout-"+name, e, err)
		})
	}
}

func TestWhatCouldNotBeReadIsNeitherAbsentNorWrong(t *testing.T) {
	node := func(s *snapshot.Snapshot) (*report.Explanation, error) { return report.ExplainNode(s, "worker-1") }
	deletion := func(s *snapshot.Snapshot) (*report.Explanation, error) { return report.ExplainDeletion(s, "worker-3") }
	service := func(s *snapshot.Snapshot) (*report.Explanation, error) {
		return report.ExplainService(s, "shop", "frontend")
	}
	for name, tc := range map[string]struct {
		forbidden string
		change    func(*world)
		explain   func(*snapshot.Snapshot) (*report.Explanation, error)
		inDump    bool
		// step is one of the steps.
		step, cause, action string
	}{
		"a Node that waits": {
			forbidden: "nodes", change: nodesWait, explain: node, step: "node/worker-1 is not known: no right to read this",
			cause: "the Node could not be read", action: "read it in the cluster: oc get node worker-1",
		},
		"a Node that is to be deleted": {
			forbidden: "nodes", change: func(w *world) { silentWorker(w) }, explain: deletion,
			step:  "node/worker-3 is not known: no right to read this",
			cause: "the Node could not be read", action: "read it in the cluster: oc get node worker-3",
		},
		"the kubelets of a rollout": {
			forbidden: "nodes", change: rollsOut, explain: report.ExplainRollout,
			step:   "node/master-0 runs revision 7, its kubelet is unknown",
			cause:  "revision 8 is being installed, one node at a time: master-0, master-1",
			action: "wait: status --wait",
		},
		"the static pods": {
			forbidden: "pods", change: waitsUnnamed, explain: node, step: "who leads is not known: no right to read this",
			cause:  "not known yet: the operator names the cause 30 seconds after a node began to wait",
			action: "ask again in a minute",
		},
		"whether static pods are Ready": {
			forbidden: "pods", change: func(*world) {}, explain: report.ExplainRollout,
			step:   "whether the cloud-controller-managers are Ready is not known: no right to read this",
			cause:  "the static pods could not be read",
			action: "read them in the cluster: oc get pods -n openshift-cloud-controller-manager",
		},
		"the announcement of a deletion": {
			forbidden: "events", change: func(w *world) { silentWorker(w) }, explain: deletion,
			step:   "whether the cloud-controller-manager wants to delete it is not known: no right to read this",
			cause:  "the Events about the Node could not be read",
			action: "read them in the cluster: oc get events -n default",
		},
		"the warning about a Service": {
			forbidden: "events", change: func(w *world) { balanced(w) }, explain: service,
			step:   "what the cloud-controller-manager has reported about it is not known: no right to read this",
			cause:  "the Events about the Service could not be read",
			action: "read them in the cluster: oc get events -n shop",
		},
		"that warning in a dump": {
			forbidden: "events", change: func(w *world) { balanced(w) }, explain: service, inDump: true,
			step:   "what the cloud-controller-manager has reported about it is not known: no right to read this",
			cause:  "the Events about the Service could not be read",
			action: "read them in the cluster: oc get events -n shop",
		},
		"the Services of a dump": {
			forbidden: "services", change: func(w *world) { balanced(w) }, explain: service, inDump: true,
			step:   "service/frontend in shop is not known: no right to read this",
			cause:  "the Service could not be read",
			action: "read it in the cluster: oc get service frontend -n shop",
		},
		"the leader's log": {
			forbidden: "log", change: func(w *world) { warned(w, "Quota exceeded") }, explain: service,
			step:  "a tenant may have written this event: the leader's log was not read",
			cause: "a quota of the cloud is exhausted",
			action: "first look for the event in the log of pod/cloud-controller-manager-master-0, because every user with the " +
				"right to create Events in namespace shop can write one; then raise the quota that the error names",
		},
		"whose log to read": {
			forbidden: "cloud-controller-manager", change: func(w *world) { warned(w, "Quota exceeded") }, explain: service,
			step:  "a tenant may have written this event: the leader's log was not read",
			cause: "a quota of the cloud is exhausted",
			action: "first look for the event in the leader's log, because every user with the right to create Events in " +
				"namespace shop can write one; then raise the quota that the error names",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.change(w)
			w.Forbidden = []string{tc.forbidden}
			var s *snapshot.Snapshot
			if tc.inDump {
				var err error
				s, err = snapshot.ReadDirectory(dumped(t, w), nil)
				require.NoError(t, err)
			} else {
				s = read(t, w.cluster(), slices.Concat(snapshot.NodeEvents(), snapshot.Service("shop", "frontend"))...)
			}
			e, err := tc.explain(s)
			require.NoError(t, err)
			require.Contains(t, e.Steps, report.Step{OK: tc.step == "who leads is not known: no right to read this", Text: tc.step})
			require.Equal(t, [2]string{tc.cause, tc.action}, [2]string{e.Cause, e.Action})
		})
	}
}

func TestAPlatformThatIsNotKnownIsNotOneWithoutACloudControllerManager(t *testing.T) {
	for name, tc := range map[string]struct {
		change        func(*world)
		cause, action string
	}{
		"not observed yet": {notYetObserved, "the operator has not observed the platform yet",
			"wait; if this lasts, see the problems in: status"},
		"of another release": {on("betacloud"), "the cluster has another release than this command",
			"use the command of the cluster's release"},
	} {
		w := newWorld(t)
		nodesWait(w)
		silentWorker(w)
		tc.change(w)
		balanced(w)
		s := read(t, w.cluster(), slices.Concat(snapshot.NodeEvents(), snapshot.Service("shop", "frontend"))...)
		for what, explain := range map[string]func() (*report.Explanation, error){
			"node":     func() (*report.Explanation, error) { return report.ExplainNode(s, "worker-1") },
			"deletion": func() (*report.Explanation, error) { return report.ExplainDeletion(s, "worker-3") },
			"service":  func() (*report.Explanation, error) { return report.ExplainService(s, "shop", "frontend") },
			"rollout":  func() (*report.Explanation, error) { return report.ExplainRollout(s) },
		} {
			e, err := explain()
			require.NoError(t, err)
			require.Equal(t, [2]string{tc.cause, tc.action}, [2]string{e.Cause, e.Action}, "%s: %s", name, what)
		}
	}
}

func TestNothingIsUnderWayWhileTheOperatorIsDown(t *testing.T) {
	for name, explain := range map[string]func(*world) (*report.Explanation, error){
		"a rollout": func(w *world) (*report.Explanation, error) {
			rollsOut(w)
			return report.ExplainRollout(read(w.t, w.cluster()))
		},
		"a removal": func(w *world) (*report.Explanation, error) {
			isBeingRemoved(w)
			return report.ExplainRollout(read(w.t, w.cluster()))
		},
		"the confirmation of a deletion": func(w *world) (*report.Explanation, error) {
			silentWorker(w)
			announced(w)
			return report.ExplainDeletion(read(w.t, w.cluster(), snapshot.NodeEvents()...), "worker-3")
		},
		"the search for a cause": func(w *world) (*report.Explanation, error) {
			waitsUnnamed(w)
			w.Forbidden = []string{"log"}
			return report.ExplainNode(read(w.t, w.cluster()), "worker-1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			operatorDown(w)
			e, err := explain(w)
			require.NoError(t, err)
			require.Equal(t, "the operator has not renewed its lock for 25m", e.Cause)
			require.Equal(t, "check the operator's pods: oc get pods -n openshift-cloud-controller-manager-operator", e.Action)
		})
	}
}

func TestTheMarksHaveColors(t *testing.T) {
	w := newWorld(t)
	e, err := report.ExplainNode(read(t, w.cluster()), "worker-1")
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, e.WriteText(&out, true))
	require.True(t, strings.HasPrefix(out.String(), "\x1b[1;31m✗ \x1b[0mnode/worker-1 does not exist\n"), out.String())
}

func TestAQuotedErrorHasNoSecret(t *testing.T) {
	w := newWorld(t)
	waits("login of user with c4n4ry-s3cret-value failed: 401 Unauthorized")(w)
	w.credentials(7, "c4n4ry-s3cret-value")
	e, err := report.ExplainNode(read(t, w.cluster()), "worker-1")
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, e.WriteText(&out, false))
	require.NotContains(t, out.String(), "c4n4ry")
	require.Contains(t, out.String(), "login of user with <password> failed")
}
