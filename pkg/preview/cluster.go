package preview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	configMapKind = "ConfigMap"
	secretKind    = "Secret"
)

// resources are the kinds that are read one by one. Secrets are listed: a right to read one of a name that only the
// configuration knows is nobody's.
var resources = map[schema.GroupKind]schema.GroupVersionResource{
	ccmv1.Kind.GroupKind():                                        ccmv1.Resource,
	{Group: configv1.GroupName, Kind: "Infrastructure"}:           configv1.GroupVersion.WithResource("infrastructures"),
	{Group: configv1.GroupName, Kind: "Proxy"}:                    configv1.GroupVersion.WithResource("proxies"),
	{Group: configv1.GroupName, Kind: "APIServer"}:                configv1.GroupVersion.WithResource("apiservers"),
	{Group: configv1.GroupName, Kind: "FeatureGate"}:              configv1.GroupVersion.WithResource("featuregates"),
	{Group: configv1.GroupName, Kind: "Network"}:                  configv1.GroupVersion.WithResource("networks"),
	corev1.SchemeGroupVersion.WithKind(configMapKind).GroupKind(): corev1.SchemeGroupVersion.WithResource("configmaps"),
}

// cluster reads the objects of a cluster, each once.
type cluster struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one command
	objects dynamic.Interface
	read    map[string][]byte
	// secrets are those of the operand's namespace as JSON, nil without the right to list them.
	secrets map[string][]byte
}

func newCluster(ctx context.Context, config *rest.Config) (*cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	c := &cluster{ctx: ctx, objects: objects, read: map[string][]byte{}}
	return c, c.listSecrets()
}

// listSecrets reads the Secrets of the operand's namespace.
func (c *cluster) listSecrets() error {
	list, err := c.objects.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(operand.Namespace).
		List(c.ctx, metav1.ListOptions{ResourceVersion: "0"})
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing secrets in %s: %w", operand.Namespace, err)
	}
	c.secrets = map[string][]byte{}
	for i := range list.Items {
		data, err := list.Items[i].MarshalJSON()
		if err != nil {
			return fmt.Errorf("reading secret/%s in %s: %w", list.Items[i].GetName(), operand.Namespace, err)
		}
		c.secrets[list.Items[i].GetName()] = data
	}
	return nil
}

// get is an offline.Live.
func (c *cluster) get(group, kind, namespace, name string) ([]byte, error) {
	if kind == secretKind {
		if namespace != operand.Namespace {
			return nil, nil // the operator reads no others
		}
		return c.secrets[name], nil
	}
	key := schema.GroupKind{Group: group, Kind: kind}
	resource, known := resources[key]
	if !known {
		return nil, nil
	}
	id := fmt.Sprintf("%s/%s/%s", key, namespace, name)
	if data, isRead := c.read[id]; isRead {
		return data, nil
	}
	object, err := c.objects.Resource(resource).Namespace(namespace).Get(c.ctx, name, metav1.GetOptions{})
	data, err := encode(object, err)
	if err != nil {
		where := ""
		if namespace != "" {
			where = " in " + namespace
		}
		return nil, fmt.Errorf("reading %s/%s%s: %w", resource.Resource, name, where, err)
	}
	c.read[id] = data
	return data, nil
}

func encode(object *unstructured.Unstructured, err error) ([]byte, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return nil, errNoRight
	case err != nil:
		return nil, err
	}
	return object.MarshalJSON() //nolint:wrapcheck // the caller names the object
}

// errNoRight says what to do about a missing right.
var errNoRight = errors.New("you have no right to read this: bind the roles for support")

// decode returns an object of the operand's namespace, nil if it does not exist.
func decode[T runtime.Object](data []byte, into T) (T, error) {
	var none T
	if data == nil {
		return none, nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return none, fmt.Errorf("reading an object of the cluster: %w", err)
	}
	return into, nil
}
