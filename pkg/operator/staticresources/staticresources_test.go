package staticresources

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
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

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const namespace = "openshift-cloud-controller-manager"

// world is a controller over a fake API whose informers follow it only when asked to.
type world struct {
	*controller
	client   *fake.Clientset
	indexers map[string]cache.Indexer
}

func newWorld(observed string) *world {
	client := fake.NewClientset()
	kube := informers.NewSharedInformerFactory(client, 0)
	o := Options{
		Operator: v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(observed)}},
			&operatorv1.OperatorStatus{}, nil),
		Target:              kube,
		ClusterRoleBindings: kube.Rbac().V1().ClusterRoleBindings(),
		Kube:                client,
	}
	return &world{
		controller: &controller{operator: o.Operator, kube: newCachedClient(o)},
		client:     client,
		indexers: map[string]cache.Indexer{
			"serviceaccounts":     kube.Core().V1().ServiceAccounts().Informer().GetIndexer(),
			"secrets":             kube.Core().V1().Secrets().Informer().GetIndexer(),
			"services":            kube.Core().V1().Services().Informer().GetIndexer(),
			"rolebindings":        kube.Rbac().V1().RoleBindings().Informer().GetIndexer(),
			"clusterrolebindings": kube.Rbac().V1().ClusterRoleBindings().Informer().GetIndexer(),
		},
	}
}

// syncOnce returns every write of one sync, and how many reads it took.
func (w *world) syncOnce(t *testing.T) (writes []string, reads int) {
	t.Helper()
	w.client.ClearActions()
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	require.NoError(t, w.sync(t.Context(), factory.NewSyncContext("test", recorder)))
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
		"create serviceaccounts cert-syncer",
		"create serviceaccounts cloud-controller-manager",
		"create serviceaccounts installer-sa",
		"create secrets cert-syncer-identity",
		"create secrets cloud-tokens",
		"create rolebindings system:openshift:cloud-controller-manager:cert-syncer",
		"create rolebindings system:openshift:cloud-controller-manager:installer",
		"create rolebindings system:openshift:cloud-controller-manager:operand-lease",
		"create clusterrolebindings system:openshift:cloud-controller-manager:installer-node",
		"create clusterrolebindings system:openshift:cloud-controller-manager:operand",
		"create clusterrolebindings system:openshift:cloud-controller-manager:openstack",
		"create services cloud-controller-manager",
	}, writes)

	writes, reads := w.syncOnce(t)
	require.Empty(t, writes)
	require.Zero(t, reads)
}

func TestDriftIsUndone(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`)
	w.syncOnce(t)

	binding, err := w.client.RbacV1().RoleBindings(namespace).Get(t.Context(), "system:openshift:cloud-controller-manager:installer", metav1.GetOptions{})
	require.NoError(t, err)
	binding = binding.DeepCopy()
	binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: "ServiceAccount", Name: "stranger", Namespace: namespace})
	require.NoError(t, w.indexers["rolebindings"].Update(binding))
	writes, _ := w.syncOnce(t)
	require.Equal(t, []string{"update rolebindings system:openshift:cloud-controller-manager:installer"}, writes)

	service, err := w.client.CoreV1().Services(namespace).Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
	require.NoError(t, err)
	service = service.DeepCopy()
	service.Spec.Selector = nil
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
	for _, name := range []string{"cloud-tokens", "cert-syncer-identity"} {
		secret, err := w.client.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		secret = secret.DeepCopy()
		secret.Data = map[string][]byte{"token": []byte("filled")}
		secret.Annotations = map[string]string{"kubernetes.io/service-account.name": "cert-syncer", "kubernetes.io/service-account.uid": "1"}
		require.NoError(t, w.indexers["secrets"].Update(secret))
	}
	writes, reads := w.syncOnce(t)
	require.Empty(t, writes)
	require.Zero(t, reads)
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

func TestOnlyBindingsOfOursAreWatched(t *testing.T) {
	client := fake.NewClientset()
	bindings := NewClusterRoleBindingInformers(client, func(o *metav1.ListOptions) { o.Limit = 7 })
	bindings.Rbac().V1().ClusterRoleBindings().Informer()
	bindings.Start(t.Context().Done())
	bindings.WaitForCacheSync(t.Context().Done())
	for _, action := range client.Actions() {
		if list, ok := action.(clienttesting.ListAction); ok {
			require.Equal(t, "app.kubernetes.io/managed-by=cloud-controller-manager-operator", list.GetListRestrictions().Labels.String())
			require.Equal(t, int64(7), action.(clienttesting.ListActionImpl).ListOptions.Limit)
		}
	}
	require.NotEmpty(t, client.Actions())
}

// TestNoBindingReachesFurtherThanThePayload reads the payload's roles: what is bound has to be there, and may not be
// everything.
func TestNoBindingReachesFurtherThanThePayload(t *testing.T) {
	shipped := map[string]rbacv1.ClusterRole{}
	manifests, err := filepath.Glob("../../../manifests/*.yaml")
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
			all, err := read(p)
			require.NoError(t, err)
			bound := []string{}
			for _, binding := range all.roleBindings {
				bound = append(bound, binding.RoleRef.Name)
			}
			for _, binding := range all.clusterRoleBindings {
				bound = append(bound, binding.RoleRef.Name)
				require.Equal(t, managedBy, binding.Labels[managedByLabel])
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

func TestTheCertSyncersIdentityIsFilledByTheControlPlane(t *testing.T) {
	openstack, _ := platform.ByName("openstack")
	all, err := read(openstack)
	require.NoError(t, err)
	identity := all.secrets[0]
	require.Equal(t, "cert-syncer-identity", identity.Name)
	require.Equal(t, corev1.SecretTypeServiceAccountToken, identity.Type)
	require.Equal(t, map[string]string{"kubernetes.io/service-account.name": "cert-syncer"}, identity.Annotations)
}
