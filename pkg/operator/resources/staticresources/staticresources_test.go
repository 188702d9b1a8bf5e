package staticresources

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

const namespace = "openshift-cloud-controller-manager"

// world is a controller with a fake API. Its informers follow the API only on request.
type world struct {
	*controller
	client   *fake.Clientset
	indexers map[string]cache.Indexer
	// unsynced are the kinds, or namespaces, whose informers do not run yet.
	unsynced []string
	events   []string
}

// informer is an informer that does not run. It has synced unless the world says otherwise.
type informer struct {
	cache.SharedIndexInformer
	hasSynced func() bool
}

func (i informer) HasSynced() bool { return i.hasSynced() }

func newWorld(observed string, existing ...runtime.Object) *world {
	client := fake.NewClientset(existing...)
	kube := informers.NewSharedInformerFactory(client, 0)
	operator := v1helpers.NewFakeOperatorClient(
		&operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(observed)}},
		&operatorv1.OperatorStatus{}, nil)
	policyBindings := kube.Admissionregistration().V1().ValidatingAdmissionPolicyBindings()
	w := &world{
		client:   client,
		unsynced: []string{policyBindingsKind},
		indexers: map[string]cache.Indexer{
			"serviceaccounts":                   kube.Core().V1().ServiceAccounts().Informer().GetIndexer(),
			"secrets":                           kube.Core().V1().Secrets().Informer().GetIndexer(),
			"services":                          kube.Core().V1().Services().Informer().GetIndexer(),
			"rolebindings":                      kube.Rbac().V1().RoleBindings().Informer().GetIndexer(),
			"clusterrolebindings":               kube.Rbac().V1().ClusterRoleBindings().Informer().GetIndexer(),
			"validatingadmissionpolicybindings": policyBindings.Informer().GetIndexer(),
		},
	}
	w.controller = newController(dependencies.Deps{Target: kube, Kube: client, Operator: controllertest.StaticPods(operator)}, Bindings{
		Cluster: kube.Rbac().V1().ClusterRoleBindings(), KubeSystem: kube.Rbac().V1().RoleBindings(), Policies: policyBindings,
	})
	for i := range w.kinds {
		name, of := w.kinds[i].name, w.kinds[i].informer
		w.kinds[i].informer = func(namespace string) cache.SharedIndexInformer {
			return informer{of(namespace), func() bool {
				return !slices.Contains(w.unsynced, name) && !slices.Contains(w.unsynced, namespace)
			}}
		}
	}
	return w
}

// syncOnce returns the writes and the number of reads of one sync.
func (w *world) syncOnce(t *testing.T) (writes []string, reads int) {
	t.Helper()
	w.client.ClearActions()
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	require.NoError(t, w.sync(t.Context(), factory.NewSyncContext("test", recorder)))
	w.events = nil
	for _, event := range recorder.Events() {
		w.events = append(w.events, event.Reason+": "+event.Message)
	}
	for _, action := range w.client.Actions() {
		switch a := action.(type) {
		case clienttesting.CreateActionImpl:
			object := a.GetObject()
			writes = append(writes, "create "+a.GetResource().Resource+" "+object.(metav1.Object).GetName())
			require.NoError(t, w.indexers[a.GetResource().Resource].Add(object))
		case clienttesting.UpdateActionImpl:
			object := a.GetObject()
			writes = append(writes, "update "+a.GetResource().Resource+" "+object.(metav1.Object).GetName())
			require.NoError(t, w.indexers[a.GetResource().Resource].Update(object))
		case clienttesting.DeleteActionImpl:
			writes = append(writes, "delete "+a.GetResource().Resource+" "+a.GetName())
		default:
			reads++
		}
	}
	return writes, reads
}

func TestEverythingIsMadeOnceAndThenCostsNothing(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`)
	writes, _ := w.syncOnce(t)
	require.Equal(t, []string{
		"create serviceaccounts cloud-controller-manager",
		"create serviceaccounts file-syncer",
		"create serviceaccounts installer-sa",
		"create serviceaccounts cloud-controller-manager-preflight",
		"create secrets cloud-tokens",
		"create secrets file-syncer-identity",
		"create rolebindings system:openshift:cloud-controller-manager:file-syncer",
		"create rolebindings system:openshift:cloud-controller-manager:installer",
		"create rolebindings system:openshift:cloud-controller-manager:operand-lease",
		"create rolebindings system:openshift:cloud-controller-manager:preflight-lease",
		"create clusterrolebindings system:openshift:cloud-controller-manager:operand",
		"create clusterrolebindings system:openshift:cloud-controller-manager:preflight-openstack",
		"create clusterrolebindings system:openshift:cloud-controller-manager:openstack",
		"create clusterrolebindings system:openshift:cloud-controller-manager:preflight",
		"create services cloud-controller-manager",
	}, writes)

	writes, reads := w.syncOnce(t)
	require.Empty(t, writes)
	require.Zero(t, reads)
}

func TestDriftIsUndone(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`)
	w.syncOnce(t)

	binding, err := w.client.RbacV1().RoleBindings(namespace).Get(t.Context(),
		"system:openshift:cloud-controller-manager:installer", metav1.GetOptions{})
	require.NoError(t, err)
	binding = binding.DeepCopy()
	binding.Subjects = append(binding.Subjects,
		rbacv1.Subject{Kind: "ServiceAccount", Name: "stranger", Namespace: namespace})
	binding.ResourceVersion = "2"
	_, err = w.client.RbacV1().RoleBindings(namespace).Update(t.Context(), binding, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.indexers["rolebindings"].Update(binding))
	writes, _ := w.syncOnce(t)
	require.Equal(t, []string{"update rolebindings system:openshift:cloud-controller-manager:installer"}, writes)

	service, err := w.client.CoreV1().Services(namespace).Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
	require.NoError(t, err)
	service = service.DeepCopy()
	service.Spec.Selector, service.ResourceVersion = nil, "2"
	_, err = w.client.CoreV1().Services(namespace).Update(t.Context(), service, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.indexers["services"].Update(service))
	writes, _ = w.syncOnce(t)
	require.Equal(t, []string{"update services cloud-controller-manager"}, writes)
}

func TestABindingThatLostItsLabelIsFoundLive(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`)
	w.syncOnce(t)
	const name = "system:openshift:cloud-controller-manager:operand"
	binding, err := w.client.RbacV1().ClusterRoleBindings().Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, w.indexers["clusterrolebindings"].Delete(binding))
	binding = binding.DeepCopy()
	binding.Labels = nil
	_, err = w.client.RbacV1().ClusterRoleBindings().Update(t.Context(), binding, metav1.UpdateOptions{})
	require.NoError(t, err)

	writes, reads := w.syncOnce(t)
	require.Equal(t, []string{"update clusterrolebindings " + name}, writes)
	require.Equal(t, 1, reads)
}

func TestWhatOthersFillIsLeftToThem(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`)
	w.syncOnce(t)
	for _, name := range []string{"cloud-tokens", "file-syncer-identity"} {
		secret, err := w.client.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		secret = secret.DeepCopy()
		claims := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"system:serviceaccount:` + namespace + `:file-syncer"}`))
		secret.Data = map[string][]byte{"token": []byte("e30." + claims + ".e30")}
		secret.Annotations = map[string]string{"kubernetes.io/service-account.name": "file-syncer",
			"kubernetes.io/service-account.uid": "1"}
		require.NoError(t, w.indexers["secrets"].Update(secret))
	}
	writes, reads := w.syncOnce(t)
	require.Empty(t, writes)
	require.Zero(t, reads)
}

func TestASecretWithAForeignTokenIsMadeAgain(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`)
	w.syncOnce(t)
	secret, err := w.client.CoreV1().Secrets(namespace).Get(t.Context(), "file-syncer-identity", metav1.GetOptions{})
	require.NoError(t, err)
	secret = secret.DeepCopy()
	secret.Data, secret.UID = map[string][]byte{"token": []byte("damaged")}, "1"
	require.NoError(t, w.indexers["secrets"].Update(secret))
	writes, _ := w.syncOnce(t)
	require.Equal(t, []string{"delete secrets file-syncer-identity"}, writes)
	deletion := w.client.Actions()[0].(clienttesting.DeleteActionImpl)
	require.Equal(t, metav1.NewUIDPreconditions("1"), deletion.DeleteOptions.Preconditions)
	require.NoError(t, w.indexers["secrets"].Delete(secret))
	writes, _ = w.syncOnce(t)
	require.Equal(t, []string{"create secrets file-syncer-identity"}, writes)
}

func TestWithoutAnOperandNothingIsMade(t *testing.T) {
	for name, observed := range map[string]string{"unmanaged": `{"platform":"none"}`, "unknown": `{}`} {
		t.Run(name, func(t *testing.T) {
			writes, reads := newWorld(observed).syncOnce(t)
			require.Empty(t, writes)
			require.Zero(t, reads)
		})
	}
}

func TestEveryRoleBindingIsInAWatchedNamespace(t *testing.T) {
	for _, p := range platform.All() {
		all, err := newWorld("{}").resources(p)
		require.NoError(t, err)
		inKubeSystem := false
		for _, r := range all {
			if r.kind.name == roleBindingsKind {
				require.Contains(t, []string{namespace, "kube-system"}, r.object.GetNamespace(), r.String())
				inKubeSystem = inKubeSystem || r.object.GetNamespace() == "kube-system"
			}
		}
		require.Equal(t, inKubeSystem, NeedsKubeSystem(p), p.Name)
	}
	azure, _ := platform.ByName("azure")
	require.True(t, NeedsKubeSystem(azure))
}

func TestABindingInKubeSystemIsReadOnlyWhereItIsNotWatched(t *testing.T) {
	const lock = "system:openshift:cloud-controller-manager:azure-lock"
	leftover := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: lock, Namespace: "kube-system", Labels: labelled(true)},
	}
	w := newWorld(`{"platform":"openstack"}`, leftover)
	w.unsynced = append(w.unsynced, "kube-system")
	writes, _ := w.syncOnce(t)
	require.Contains(t, writes, "delete rolebindings "+lock)

	w = newWorld(`{"platform":"openstack"}`, leftover)
	writes, _ = w.syncOnce(t)
	require.NotContains(t, writes, "delete rolebindings "+lock)
}

// nodeManaged is a fake platform with a node manager.
var nodeManaged = platform.Platform{Name: "openstack", NodeManagerImage: "some-cloud-node-manager"}

func TestANodeManagerBringsItsResources(t *testing.T) {
	w := newWorld("{}")
	all, err := w.resources(nodeManaged)
	require.NoError(t, err)
	var names []string
	for _, r := range all {
		if strings.Contains(r.object.GetName(), "node-manager") {
			names = append(names, r.String())
		}
	}
	require.Equal(t, []string{
		"serviceaccount/cloud-node-manager in openshift-cloud-controller-manager",
		"validatingadmissionpolicybinding/openshift-cloud-controller-manager-node-manager",
		"rolebinding/system:openshift:cloud-controller-manager:node-manager-admission in openshift-cloud-controller-manager",
		"clusterrolebinding/system:openshift:cloud-controller-manager:node-manager",
	}, names)

	stale, err := w.stale(nodeManaged, all)
	require.NoError(t, err)
	for _, r := range stale {
		require.NotContains(t, r.object.GetName(), "node-manager")
	}
}

// OpenShift's alert TargetDown would fire for ever.
func TestWhereNoMetricsAreServedNoServiceIsScraped(t *testing.T) {
	const service = "service/cloud-controller-manager in openshift-cloud-controller-manager"
	for name, serves := range map[string]bool{"openstack": true, "external": true, "alibabacloud": false} {
		w, p := newWorld("{}"), platformNamed(t, name)
		applied, err := w.resources(p)
		require.NoError(t, err)
		stale, err := w.stale(p, applied)
		require.NoError(t, err)
		isService := func(r resource) bool { return r.String() == service }
		require.Equal(t, serves, slices.ContainsFunc(applied, isService), name)
		require.Equal(t, !serves, slices.ContainsFunc(stale, isService), name)
	}
}

func TestAPolicyIsBoundBeforeTheRightsThatItRestricts(t *testing.T) {
	w := newWorld("{}")
	all, err := w.resources(nodeManaged)
	require.NoError(t, err)
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	var made []string
	for _, r := range all {
		_, err := r.kind.apply(t.Context(), recorder, r.object)
		require.NoError(t, err)
		made = append(made, r.kind.name)
	}
	require.Less(t, slices.Index(made, "validatingadmissionpolicybinding"), slices.Index(made, "rolebinding"))

	binding, err := w.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().
		Get(t.Context(), "openshift-cloud-controller-manager-node-manager", metav1.GetOptions{})
	require.NoError(t, err)
	binding = binding.DeepCopy()
	binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Audit}
	_, err = w.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Update(t.Context(), binding, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.client.ClearActions()
	for _, r := range all {
		if r.kind.name == "validatingadmissionpolicybinding" {
			_, err := r.kind.apply(t.Context(), recorder, r.object)
			require.NoError(t, err)
		}
	}
	require.Len(t, w.client.Actions(), 2)
	require.Equal(t, "update", w.client.Actions()[1].GetVerb())
}

func labelled(ours bool) map[string]string {
	if ours {
		return map[string]string{managedByLabel: managedBy}
	}
	return map[string]string{"app.kubernetes.io/managed-by": "another-operator"}
}

// leftBehind returns resources of a node manager on a platform that has none.
func leftBehind(ours bool) []runtime.Object {
	return []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-node-manager",
			Labels: labelled(ours)}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{
			Name: "system:openshift:cloud-controller-manager:node-manager", Labels: labelled(ours),
		}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "system:openshift:cloud-controller-manager:node-manager-admission",
			Labels: labelled(ours),
		}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{
			Name: "openshift-cloud-controller-manager-node-manager", Labels: labelled(ours),
		}},
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "azure-cloud-node-manager",
			Labels: labelled(ours)}},
	}
}

// see adds the existing objects to the caches.
func (w *world) see(t *testing.T, objects []runtime.Object) {
	t.Helper()
	for _, o := range objects {
		switch o.(type) {
		case *corev1.ServiceAccount:
			require.NoError(t, w.indexers["serviceaccounts"].Add(o))
		case *rbacv1.ClusterRoleBinding:
			require.NoError(t, w.indexers["clusterrolebindings"].Add(o))
		case *rbacv1.RoleBinding:
			require.NoError(t, w.indexers["rolebindings"].Add(o))
		}
	}
}

func TestWhatBelongsToOtherPlatformsIsRemovedOnce(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`, leftBehind(true)...)
	w.see(t, leftBehind(true))
	writes, _ := w.syncOnce(t)
	require.Equal(t, []string{
		"delete daemonsets azure-cloud-node-manager",
		"delete clusterrolebindings system:openshift:cloud-controller-manager:node-manager",
		"delete rolebindings system:openshift:cloud-controller-manager:node-manager-admission",
		"delete validatingadmissionpolicybindings openshift-cloud-controller-manager-node-manager",
		"delete serviceaccounts cloud-node-manager",
	}, slices.DeleteFunc(writes, func(w string) bool { return strings.HasPrefix(w, "create ") }))
	require.Contains(t, w.events, "RoleBindingDeleted: Deleted RoleBinding.rbac.authorization.k8s.io/"+
		"system:openshift:cloud-controller-manager:node-manager-admission -n openshift-cloud-controller-manager")

	writes, reads := w.syncOnce(t)
	require.Empty(t, writes)
	require.Zero(t, reads)
}

func TestWhatIsNotOursIsNeverRemoved(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`, leftBehind(false)...)
	w.see(t, leftBehind(false))
	writes, _ := w.syncOnce(t)
	for _, write := range writes {
		require.Regexp(t, "^create ", write)
	}
}

func TestWithoutAnOperandNothingIsRemoved(t *testing.T) {
	for name, observed := range map[string]string{"unmanaged": `{"platform":"none"}`, "unknown": `{}`} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(observed, leftBehind(true)...)
			w.see(t, leftBehind(true))
			writes, reads := w.syncOnce(t)
			require.Empty(t, writes)
			require.Zero(t, reads)
		})
	}
}

func TestAFailedRemovalIsReportedAndTriedAgain(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`, leftBehind(true)...)
	w.see(t, leftBehind(true))
	failing := true
	w.client.PrependReactor("delete", "clusterrolebindings", func(clienttesting.Action) (bool, runtime.Object, error) {
		return failing, nil, errors.New("forbidden")
	})
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	require.EqualError(t, w.sync(t.Context(), factory.NewSyncContext("test", recorder)),
		"removing what platform openstack does not use: deleting clusterrolebinding/"+
			"system:openshift:cloud-controller-manager:node-manager: forbidden")
	failing = false
	writes, _ := w.syncOnce(t)
	require.Contains(t, writes, "delete clusterrolebindings system:openshift:cloud-controller-manager:node-manager")
}

func TestAWatchedPolicyIsNotReadToBeRemoved(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`, leftBehind(true)...)
	w.unsynced = nil
	writes, _ := w.syncOnce(t)
	require.NotContains(t, writes,
		"delete validatingadmissionpolicybindings openshift-cloud-controller-manager-node-manager")
}

// TestEveryAssetIsLabelled also checks platforms that the cluster is no longer on: the controller deletes nothing
// without the label.
func TestEveryAssetIsLabelled(t *testing.T) {
	w := newWorld("{}")
	all, err := w.stale(platform.Platform{Name: platform.None}, nil)
	require.NoError(t, err)
	common, err := w.resources(platform.Platform{Name: platform.None})
	require.NoError(t, err)
	for _, r := range append(all, common...) {
		require.Equal(t, managedBy, r.object.GetLabels()[managedByLabel], r.String())
	}
}

// TestNoBindingReachesFurtherThanThePayload reads the payload's roles: a bound role must be among them, and must not
// grant everything.
func TestNoBindingReachesFurtherThanThePayload(t *testing.T) {
	shipped := map[string]rbacv1.ClusterRole{}
	manifests, err := filepath.Glob("../../../../manifests/*.yaml")
	require.NoError(t, err)
	for _, manifest := range manifests {
		content, err := os.ReadFile(manifest)
		require.NoError(t, err)
		for _, document := range strings.Split(string(content), "\n---\n") {
			role := rbacv1.ClusterRole{}
			if yaml.Unmarshal([]byte(document), &role) == nil && role.Kind == "ClusterRole" {
				shipped[role.Name] = role
			}
		}
	}
	for _, p := range platform.All() {
		if !p.Managed() {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			all, err := newWorld("{}").resources(p)
			require.NoError(t, err)
			bound := []string{}
			for _, r := range all {
				switch binding := r.object.(type) {
				case *rbacv1.RoleBinding:
					bound = append(bound, binding.RoleRef.Name)
				case *rbacv1.ClusterRoleBinding:
					bound = append(bound, binding.RoleRef.Name)
				}
			}
			require.NotEmpty(t, bound)
			for _, name := range bound {
				role, ok := shipped[name]
				require.True(t, ok, "clusterrole/%s is not in the payload", name)
				for _, rule := range role.Rules {
					require.NotContains(t, append(append(rule.Verbs, rule.Resources...), rule.APIGroups...), "*")
				}
			}
		})
	}
}

func TestTheFileSyncersIdentityIsFilledByTheControlPlane(t *testing.T) {
	openstack, _ := platform.ByName("openstack")
	all, err := newWorld("{}").resources(openstack)
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(r resource) bool { return r.object.GetName() == "file-syncer-identity" })
	identity, ok := all[i].object.(*corev1.Secret)
	require.True(t, ok)
	require.Equal(t, corev1.SecretTypeServiceAccountToken, identity.Type)
	require.Equal(t, map[string]string{"kubernetes.io/service-account.name": "file-syncer"}, identity.Annotations)
}

func TestEverythingIsRemovedInTheReverseOrder(t *testing.T) {
	others := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	w := newWorld(`{"platform":"openstack"}`, others)
	w.syncOnce(t)
	for _, o := range leftBehind(true) {
		require.NoError(t, w.client.Tracker().Add(o))
	}
	w.see(t, leftBehind(true))
	w.client.ClearActions()

	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	found, err := w.removeAll(t.Context(), recorder)
	require.NoError(t, err)
	require.True(t, found)
	var deleted []string
	for _, action := range w.client.Actions() {
		if a, ok := action.(clienttesting.DeleteActionImpl); ok {
			deleted = append(deleted, a.GetResource().Resource+" "+a.GetName())
		}
	}
	require.Equal(t, []string{
		"daemonsets azure-cloud-node-manager",
		"services cloud-controller-manager",
		"clusterrolebindings system:openshift:cloud-controller-manager:openstack",
		"clusterrolebindings system:openshift:cloud-controller-manager:preflight-openstack",
		"clusterrolebindings system:openshift:cloud-controller-manager:preflight",
		"clusterrolebindings system:openshift:cloud-controller-manager:node-manager",
		"clusterrolebindings system:openshift:cloud-controller-manager:operand",
		"rolebindings system:openshift:cloud-controller-manager:preflight-lease",
		"rolebindings system:openshift:cloud-controller-manager:node-manager-admission",
		"rolebindings system:openshift:cloud-controller-manager:operand-lease",
		"rolebindings system:openshift:cloud-controller-manager:installer",
		"rolebindings system:openshift:cloud-controller-manager:file-syncer",
		"validatingadmissionpolicybindings openshift-cloud-controller-manager-node-manager",
		"secrets file-syncer-identity",
		"secrets cloud-tokens",
		"serviceaccounts cloud-controller-manager-preflight",
		"serviceaccounts cloud-node-manager",
		"serviceaccounts installer-sa",
		"serviceaccounts file-syncer",
		"serviceaccounts cloud-controller-manager",
	}, slices.Compact(deleted))

	for _, indexer := range w.indexers {
		require.NoError(t, indexer.Replace(nil, ""))
	}
	found, err = w.removeAll(t.Context(), recorder)
	require.NoError(t, err)
	require.False(t, found)
}

// A removal may start before all caches are filled.
func TestWhatNoCacheHasYetIsRemoved(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`, leftBehind(true)...)
	w.unsynced = []string{"serviceaccount", "clusterrolebinding", roleBindingsKind, policyBindingsKind}
	w.client.ClearActions()
	_, err := w.removeAll(t.Context(),
		events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0))))
	require.NoError(t, err)
	var deleted []string
	for _, action := range w.client.Actions() {
		if a, ok := action.(clienttesting.DeleteActionImpl); ok {
			deleted = append(deleted, a.GetResource().Resource)
		}
	}
	require.Equal(t, []string{
		"daemonsets", "clusterrolebindings", "rolebindings", "validatingadmissionpolicybindings", "serviceaccounts",
	}, deleted)
}

// Objects without our label are not ours, whatever their names are.
func TestNothingOfOthersIsRemoved(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`, leftBehind(false)...)
	w.see(t, leftBehind(false))
	found, err := w.removeAll(t.Context(),
		events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0))))
	require.NoError(t, err)
	require.False(t, found)
}

func TestAResourceThatCannotBeRemovedIsNamed(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`, leftBehind(true)...)
	w.see(t, leftBehind(true))
	w.fail("delete", "clusterrolebindings")
	found, err := w.removeAll(t.Context(),
		events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0))))
	require.EqualError(t, err,
		"deleting clusterrolebinding/system:openshift:cloud-controller-manager:node-manager: forbidden")
	require.True(t, found)
}

// Roles that are bound until then stay restrained.
func TestAResourceThatFinalizersKeepIsNamed(t *testing.T) {
	left := leftBehind(true)
	for _, o := range left {
		if binding, ok := o.(*rbacv1.ClusterRoleBinding); ok {
			binding.DeletionTimestamp, binding.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"example.com/audit"}
		}
	}
	w := newWorld(`{"platform":"openstack"}`, left...)
	w.see(t, left)
	w.client.ClearActions()
	found, err := w.removeAll(t.Context(),
		events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0))))
	require.EqualError(t, err, "deleting clusterrolebinding/system:openshift:cloud-controller-manager:node-manager: "+
		"its finalizers keep it, remove them if nothing else does: [example.com/audit]")
	require.True(t, found)
	for _, action := range w.client.Actions() {
		require.False(t, action.Matches("delete", "clusterrolebindings"))
		require.False(t, action.Matches("delete", "validatingadmissionpolicybindings"))
	}
}
