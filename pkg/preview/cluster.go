package preview

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	configMapKind = "ConfigMap"
	secretKind    = "Secret"
)

// cluster reads the objects of a cluster, each once. Secrets are listed: a right to read one of a name that only the
// configuration knows is nobody's.
type cluster struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one command
	objects dynamic.Interface
	read    map[string][]byte
	// secrets are those of the operand's namespace as JSON, nil without the right to list them.
	secrets map[string][]byte
}

func newCluster(ctx context.Context, objects dynamic.Interface) (*cluster, error) {
	c := &cluster{ctx: ctx, objects: objects, read: map[string][]byte{}}
	list, err := objects.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(operand.Namespace).
		List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if apierrors.IsForbidden(err) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing secrets in %s: %w", operand.Namespace, err)
	}
	c.secrets = map[string][]byte{}
	for i := range list.Items {
		if c.secrets[list.Items[i].GetName()], err = list.Items[i].MarshalJSON(); err != nil {
			return nil, fmt.Errorf("reading secret/%s in %s: %w", list.Items[i].GetName(), operand.Namespace, err)
		}
	}
	return c, nil
}

func (c *cluster) get(group, kind, namespace, name string) ([]byte, error) {
	if kind == secretKind {
		if namespace != operand.Namespace {
			return nil, nil // the operator reads no others
		}
		return c.secrets[name], nil
	}
	id := fmt.Sprintf("%s.%s/%s/%s", kind, group, namespace, name)
	if data, isRead := c.read[id]; isRead {
		return data, nil
	}
	resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
	object, err := c.objects.Resource(resource).Namespace(namespace).Get(c.ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		c.read[id], err = object.MarshalJSON()
	case apierrors.IsNotFound(err):
		c.read[id], err = nil, nil
	case apierrors.IsForbidden(err):
		err = errors.New("you have no right to read this: bind the roles for support")
	}
	if err != nil {
		where := ""
		if namespace != "" {
			where = " in " + namespace
		}
		return nil, fmt.Errorf("reading %s/%s%s: %w", resource.Resource, name, where, err)
	}
	return c.read[id], nil
}
