package report_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/tokens"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/snapshottest"
)

var now = controlplanetest.At(20)

const (
	targetNamespace   = "openshift-cloud-controller-manager"
	operatorNamespace = "openshift-cloud-controller-manager-operator"
	image             = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// world is a cluster on OpenStack with three control-plane nodes and a worker. Tests change its objects.
type world struct {
	t     *testing.T
	plane *controlplanetest.Cluster

	Resource        *ccmv1.CloudControllerManager
	ClusterOperator *configv1.ClusterOperator
	Infrastructure  *configv1.Infrastructure
	Lock            *coordinationv1.Lease
	Workers         []*corev1.Node
	Secrets         map[string]*corev1.Secret
	More            []any
	Forbidden       []string
	Logs            map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, plane: controlplanetest.New("master-0", "master-1", "master-2"), Secrets: map[string]*corev1.Secret{}, Logs: map[string]string{},
		Resource: &ccmv1.CloudControllerManager{
			ObjectMeta: metav1.ObjectMeta{Name: "cluster", ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "a", Subresource: "status", Operation: "Apply", Time: ptr.To(metav1.NewTime(now.Add(-2 * time.Hour)))},
				{Manager: "b", Subresource: "status", Operation: "Apply", Time: ptr.To(metav1.NewTime(now.Add(-time.Hour)))},
				{Manager: "c", Operation: "Update", Time: ptr.To(metav1.NewTime(now))},
			}},
		},
		ClusterOperator: &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager"}},
		Infrastructure: &configv1.Infrastructure{
			ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
			Status:     configv1.InfrastructureStatus{InfrastructureName: "ostest-x7k2p", ControlPlaneTopology: configv1.HighlyAvailableTopologyMode},
		},
		Lock: &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "cluster-cloud-controller-manager-operator-lock"},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity:       ptr.To("master-1_cluster-cloud-controller-manager-operator-6d5f7_0a1b_2c3d"),
				LeaseDurationSeconds: ptr.To(int32(137)), RenewTime: &metav1.MicroTime{Time: now.Add(-12 * time.Second)},
			},
		},
	}
	w.Resource.Spec.ObservedConfig.Raw = []byte(`{"platform":"openstack","cloudConfig":{"name":"cloud-provider-config","key":"config"},"trustedCA":"user-ca-bundle","proxy":{"HTTPS_PROXY":"https://user:pass@proxy"}}`)
	w.Resource.Status.LatestAvailableRevision = 7
	for _, name := range []string{"master-0", "master-1", "master-2"} {
		w.Resource.Status.NodeStatuses = append(w.Resource.Status.NodeStatuses, operatorv1.NodeStatus{NodeName: name, CurrentRevision: 7})
		w.plane.Nodes[name].Labels = map[string]string{"node-role.kubernetes.io/master": ""}
		w.plane.Nodes[name].Spec.ProviderID = "openstack:///" + name
		w.plane.Nodes[name].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		w.plane.Pods[name].Status.ContainerStatuses[1].Image = image
	}
	w.worker("worker-0")
	w.says(configv1.OperatorAvailable, "True", "AsExpected", "")
	w.says(configv1.OperatorProgressing, "False", "AsExpected", "")
	w.says(configv1.OperatorDegraded, "False", "AsExpected", "")
	w.ClusterOperator.Status.Versions = []configv1.OperandVersion{
		{Name: "operator", Version: "4.22.0"}, {Name: "operator-image", Version: image}, {Name: "cloud-controller-manager", Version: "4.22.0"},
	}
	w.condition("CloudControllerManagerAvailable", "True", "AsExpected", "")
	w.condition("CloudConfigDegraded", "False", "AsExpected", "")
	w.secrets()
	return w
}

// secrets creates those that the operator writes.
func (w *world) secrets() {
	w.credentials(6, "same")
	w.credentials(7, "same")
	token, err := json.Marshal(tokens.Records{"token": {ExpiresAt: now.Add(44 * time.Hour).Format(time.RFC3339)}})
	require.NoError(w.t, err)
	w.secret("kube-token", map[string][]byte{"token": []byte("t0ken")}).Annotations = map[string]string{tokens.RecordsAnnotation: string(token)}
	w.secret("serving-cert", map[string][]byte{"tls.crt": certificate(w.t, now.Add(20*24*time.Hour)), "tls.key": []byte("k3y")})
	w.More = append(w.More, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: targetNamespace, Name: "serving-ca"},
		Data:       map[string]string{"ca-bundle.crt": string(certificate(w.t, now.Add(50*24*time.Hour)))},
	})
	accepted, _, err := inputs.Accepted{
		Known:       true,
		CloudConfig: inputs.AcceptCloudConfig(nil, operand.CloudConfig{Source: "configmap/cloud-provider-config in openshift-config", Data: []byte("[Global]\n")}, now.Add(-72*time.Hour)),
		Credentials: inputs.AcceptCredentials(nil, operand.Inputs{Credentials: operand.Credentials{Source: "secret/x", Data: map[string][]byte{"k": []byte("v")}}}, now.Add(-48*time.Hour)),
		TrustedCA:   inputs.AcceptTrustedCA(nil, operand.TrustSource{Source: "configmap/t", Data: []byte("pem")}, now.Add(-24*time.Hour)),
	}.Secret("openstack")
	require.NoError(w.t, err)
	w.Secrets["accepted-inputs"] = accepted
}

func (w *world) secret(name string, data map[string][]byte) *corev1.Secret {
	w.Secrets[name] = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: targetNamespace, Name: name}, Data: data}
	return w.Secrets[name]
}

func revisionTime(revision int) time.Time { return now.Add(time.Duration(revision-10) * time.Hour) }

// credentials creates the copy of a revision.
func (w *world) credentials(revision int, password string) {
	w.secret(fmt.Sprintf("cloud-credentials-%d", revision), map[string][]byte{"clouds.yaml": []byte("password: " + password)}).
		CreationTimestamp = metav1.NewTime(revisionTime(revision))
}

func certificate(t *testing.T, end time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.Add(-time.Hour), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// Nodes returns the status of a control-plane node.
func (w *world) Nodes(name string) *operatorv1.NodeStatus {
	for i := range w.Resource.Status.NodeStatuses {
		if status := &w.Resource.Status.NodeStatuses[i]; status.NodeName == name {
			return status
		}
	}
	require.Fail(w.t, "no such node")
	return nil
}

func (w *world) worker(name string, taints ...corev1.Taint) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(now.Add(-6 * time.Minute))},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///" + name, Taints: taints},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.10"}},
			NodeInfo:   corev1.NodeSystemInfo{SystemUUID: "uuid-of-" + name},
		},
	}
	w.Workers = append(w.Workers, node)
	return node
}

// says sets a condition of the ClusterOperator.
func (w *world) says(kind configv1.ClusterStatusConditionType, status configv1.ConditionStatus, reason, message string) {
	c := configv1.ClusterOperatorStatusCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-10 * time.Minute))}
	for i := range w.ClusterOperator.Status.Conditions {
		if w.ClusterOperator.Status.Conditions[i].Type == kind {
			w.ClusterOperator.Status.Conditions[i] = c
			return
		}
	}
	w.ClusterOperator.Status.Conditions = append(w.ClusterOperator.Status.Conditions, c)
}

// condition sets a condition of the operator's resource.
func (w *world) condition(kind string, status operatorv1.ConditionStatus, reason, message string) {
	c := operatorv1.OperatorCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-10 * time.Minute))}
	for i := range w.Resource.Status.Conditions {
		if w.Resource.Status.Conditions[i].Type == kind {
			w.Resource.Status.Conditions[i] = c
			return
		}
	}
	w.Resource.Status.Conditions = append(w.Resource.Status.Conditions, c)
}

func (w *world) cluster() *snapshottest.Cluster {
	c := &snapshottest.Cluster{Now: now, Forbidden: w.Forbidden, Logs: w.Logs}
	c.Objects = append(c.Objects, w.More...)
	if w.Resource != nil {
		c.Objects = append(c.Objects, w.Resource)
	}
	c.Objects = append(c.Objects, w.ClusterOperator, w.Infrastructure)
	if w.Lock != nil {
		c.Objects = append(c.Objects, w.Lock)
	}
	if w.plane.Lease != nil {
		c.Objects = append(c.Objects, w.plane.Lease)
	}
	for _, node := range w.plane.Nodes {
		c.Objects = append(c.Objects, node)
	}
	for _, node := range w.Workers {
		c.Objects = append(c.Objects, node)
	}
	for _, pod := range w.plane.Pods {
		c.Objects = append(c.Objects, pod)
	}
	for _, secret := range w.Secrets {
		c.Objects = append(c.Objects, secret)
	}
	return c
}

func rollsOut(w *world) {
	w.credentials(8, "rotated")
	w.Resource.Status.LatestAvailableRevision = 8
	w.Nodes("master-2").CurrentRevision = 8
	w.Nodes("master-1").TargetRevision = 8
	w.plane.Ready("master-1", false)
	w.plane.Pods["master-1"].Status.ContainerStatuses[1].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	message := "1 of 3 control-plane nodes run revision 8, node/master-0 runs revision 7, node/master-1 runs revision 7"
	w.condition("CloudControllerManagerProgressing", "True", "RollingOut", message)
	w.condition("NodeInstallerProgressing", "True", "", "1 node is at revision 8; revision 8 is being installed on node/master-1")
	w.says(configv1.OperatorProgressing, "True", "CloudControllerManager_RollingOut", "CloudControllerManagerProgressing: "+message)
}

func noLeader(w *world) {
	w.plane.Lease = nil
	message := "lease/cloud-controller-manager in openshift-cloud-controller-manager has no holder; read the log of pod/cloud-controller-manager-master-0"
	w.condition("CloudControllerManagerAvailable", "False", "NoLeader", message)
	w.condition("CloudControllerManagerDegraded", "True", "NoLeader", message)
	w.says(configv1.OperatorAvailable, "False", "CloudControllerManager_NoLeader", message)
	w.says(configv1.OperatorDegraded, "True", "CloudControllerManager_NoLeader", message)
}

func inputRejected(w *world) {
	message := `configmap/cloud-provider-config in openshift-config, key config, line 3:1: unknown key "regoin" in [Global]; did you mean "region"?` +
		"\nuntil then, the version accepted at 2026-11-18T09:00:20Z stays in use"
	w.condition("CloudConfigDegraded", "True", "Refused", message)
	w.says(configv1.OperatorDegraded, "True", "CloudConfig_Refused", "CloudConfigDegraded: "+message)
}

func preflightFailed(w *world) {
	message := `a cloud-controller-manager with the changed inputs, on node/master-1 for 1s at 2026-11-21T08:50:00Z: ` +
		`the cloud rejects the credentials: "got 401 instead"; replace the credentials`
	rejected := "secret/openstack-cloud-credentials in openshift-cloud-controller-manager: " + message +
		"; it is tried again at 2026-11-21T08:55:00Z; to use it nevertheless, run: oc annotate --overwrite cloudcontrollermanager " +
		"cluster cloudcontrollermanager.operator.openshift.io/accepted-preflight=7f4fc926afc6\nuntil then, the version accepted at 2026-11-18T09:00:20Z stays in use"
	w.condition("CredentialsDegraded", "True", "Refused", rejected)
	w.condition("PreflightNotices", "True", "PreflightFailed", message)
	w.says(configv1.OperatorDegraded, "True", "Credentials_Refused", "CredentialsDegraded: "+rejected)
}

const waitsForCloud = "a cloud-controller-manager with the changed inputs, on node/master-1 for 1s at 2026-11-21T08:50:00Z: the cloud's API " +
	`cannot be reached from the control plane: "connection refused"; check name resolution, routes, firewalls and the cluster's ` +
	"proxy; what ran before stays in use; it is tried again at 2026-11-21T09:01:00Z; to roll the change out unproved, run: oc " +
	"annotate --overwrite cloudcontrollermanager cluster cloudcontrollermanager.operator.openshift.io/accepted-preflight=7f4fc926afc6"

func preflightWaits(w *world) {
	w.condition("PreflightNotices", "True", "PreflightInconclusive", waitsForCloud)
}

func operatorDown(w *world) {
	w.Lock.Spec.RenewTime.Time = now.Add(-25 * time.Minute)
}

func isRemoved(w *world) {
	w.Resource.Spec.ManagementState = operatorv1.Removed
	w.Resource.Status.NodeStatuses = nil
	w.plane.Pods, w.plane.Lease = nil, nil
	w.condition("Removing", "True", "Removed", "the cloud-controller-manager is removed: nothing initializes new nodes or updates load "+
		"balancers; set spec.managementState to Managed to install it again")
	w.condition("CloudControllerManagerAvailable", "True", "Removed", "spec.managementState of cloudcontrollermanager/cluster is Removed: "+
		"this operator runs no cloud-controller-manager; set it to Managed to run one again")
}

func isBeingRemoved(w *world) {
	isRemoved(w)
	w.condition("Removing", "True", "RemovingStaticPods", "waiting for node/master-1")
}

func platformNone(w *world) {
	w.Resource.Spec.ObservedConfig.Raw = []byte(`{"platform":"none"}`)
	w.Resource.Status.NodeStatuses, w.Resource.Status.Conditions = nil, nil
	w.plane.Pods, w.plane.Lease, w.Secrets, w.More = nil, nil, nil, nil
	w.condition("CloudControllerManagerAvailable", "True", "PlatformWithoutCloudControllerManager", "the platform in status.platformStatus.type of "+
		"infrastructure.config.openshift.io/cluster needs no cloud-controller-manager from this operator")
}

func notYetObserved(w *world) {
	platformNone(w)
	w.Resource.Spec.ObservedConfig.Raw, w.Resource.Status.Conditions = nil, nil
	w.ClusterOperator.Status = configv1.ClusterOperatorStatus{}
}

const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

func nodesWait(w *world) {
	waiting := w.worker("worker-1", corev1.Taint{Key: uninitialized, Effect: corev1.TaintEffectNoSchedule})
	waiting.Spec.ProviderID = ""
	// By this taint the operator asks the CCM about an initialized node.
	w.worker("worker-2", corev1.Taint{Key: uninitialized, Effect: corev1.TaintEffectPreferNoSchedule})
	message := `not initialized by the cloud-controller-manager: node/worker-1 (since 2026-11-21T08:54:20Z; no providerID, systemUUID "uuid-of-worker-1"): the cloud does not know the machine ("no; (such server"); ` +
		"check that the project, region or datacenter of the cloud configuration has an instance with this name, providerID or systemUUID"
	w.condition("NodeInitializationDegraded", "True", "NodesUninitialized", message)
	w.says(configv1.OperatorDegraded, "True", "NodeInitialization_NodesUninitialized", message)
	w.condition("NodeDeletionDegraded", "True", "TooManyNodes", "the cloud-controller-manager wants to delete node/worker-3, because the cloud does not know the machine, but more than half of the kubelets are silent")
	w.condition("TrustedCANotices", "True", "Expiring", "configmap/user-ca-bundle in openshift-config, key ca-bundle.crt: the certificate expires soon")
}

// longNames has everything as long as it can be.
func longNames(w *world) {
	for _, name := range []string{"master-0", "master-1", "master-2"} {
		long := name + "." + strings.Repeat("x", 50) + ".us-east-2.compute.internal"
		node, pod := w.plane.Nodes[name], w.plane.Pods[name]
		node.Name, pod.Spec.NodeName = long, long
		w.Nodes(name).NodeName = long
	}
	w.plane.Lease.Spec.HolderIdentity = ptr.To("master-0." + strings.Repeat("x", 50) + ".us-east-2.compute.internal_1")
	w.Resource.Spec.ObservedConfig.Raw = []byte(`{"platform":"openstack","cloudConfig":{"name":"` + strings.Repeat("c", 200) + `"}}`)
	w.condition("CloudConfigNotices", "True", "Accepted", strings.Repeat("word ", 60)+strings.Repeat("w", 300)+"\nsecond \x1b[2Jline")
}
