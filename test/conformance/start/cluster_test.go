package start

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// nodeName is the one node of the cluster.
const nodeName = "worker-0"

// kube is the administrator's client.
var kube kubernetes.Interface

// prepare applies what the operator would: the resources of every platform.
func prepare(ctx context.Context) error {
	config := cluster.RESTConfig()
	var err error
	if kube, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kube.Discovery()))
	return fs.WalkDir(bindata.FS(), "assets", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Base(path.Dir(file)) != "resources" {
			return err
		}
		if err := create(ctx, client, mapper, bindata.MustRead(file)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return nil
	})
}

func create(ctx context.Context, client dynamic.Interface, mapper meta.RESTMapper, data []byte) error {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &object.Object); err != nil {
		return err
	}
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	_, err = resource.Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// token mints a token of a ServiceAccount of the operand's namespace.
func token(t *testing.T, serviceAccount string, audiences ...string) []byte {
	t.Helper()
	request, err := kube.CoreV1().ServiceAccounts(operand.Namespace).CreateToken(t.Context(), serviceAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return []byte(request.Status.Token)
}

// boundToken mints a token as the kubelet does for a pod on the node: it names the pod and its node.
func boundToken(t *testing.T, serviceAccount string) []byte {
	t.Helper()
	pods := kube.CoreV1().Pods(operand.Namespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bound-"},
		Spec: corev1.PodSpec{
			NodeName: nodeName, ServiceAccountName: serviceAccount, Containers: []corev1.Container{{Name: "nothing", Image: "nothing"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		now := int64(0)
		require.NoError(t, pods.Delete(context.WithoutCancel(t.Context()), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	})
	request, err := kube.CoreV1().ServiceAccounts(operand.Namespace).CreateToken(t.Context(), serviceAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
		}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return []byte(request.Status.Token)
}

// lease is the operand's, nil while nobody has taken it.
func lease(ctx context.Context) (*coordinationv1.Lease, error) {
	found, err := kube.CoordinationV1().Leases(operand.Namespace).Get(ctx, operand.Lease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// releaseLease removes the lease that a process which was ended has left.
func releaseLease(ctx context.Context) error {
	err := kube.CoordinationV1().Leases(operand.Namespace).Delete(ctx, operand.Lease, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// bootstrapKubeconfig is what the installer leaves on the bootstrap node: the administrator's, complete in one file.
func bootstrapKubeconfig() ([]byte, error) {
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig())
	if err != nil {
		return nil, err
	}
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		return nil, err
	}
	return clientcmd.Write(*config)
}

// serverCA is what the API server's certificate is checked against.
func serverCA(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(cluster.ServerCAFile())
	require.NoError(t, err)
	return data
}

// register makes the node, as its kubelet does: nobody has initialized it.
func register(t *testing.T) {
	t.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}}},
	}
	_, err := kube.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, kube.CoreV1().Nodes().Delete(context.WithoutCancel(t.Context()), nodeName, metav1.DeleteOptions{}))
	})
}

// initialized returns nil when the node has been initialized.
func initialized(ctx context.Context) error {
	node, err := kube.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == cloudproviderapi.TaintExternalCloudProvider {
			return fmt.Errorf("the node has the taint %s", taint.Key)
		}
	}
	if node.Spec.ProviderID == "" || len(node.Status.Addresses) == 0 {
		return fmt.Errorf("the node has the provider ID %q and the addresses %v", node.Spec.ProviderID, node.Status.Addresses)
	}
	return nil
}
