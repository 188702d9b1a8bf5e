package architecture

import (
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/resources/staticresources"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/clusteroperatorstatus"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// ofOthers are related objects that exist without this operator. An empty name stands for all objects of a resource.
var ofOthers = []configv1.ObjectReference{
	{Resource: "namespaces", Name: "openshift-config"}, {Resource: "namespaces", Name: "openshift-config-managed"}, {Resource: "nodes"},
}

// reference is an object in the ClusterOperator's notation.
func (m manifest) reference(t *testing.T) configv1.ObjectReference {
	t.Helper()
	kind := m.object.GetObjectKind().GroupVersionKind()
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return configv1.ObjectReference{Group: kind.Group, Resource: resource.Resource, Namespace: m.meta(t).GetNamespace(), Name: m.meta(t).GetName()}
}

func references(t *testing.T, all []manifest) []configv1.ObjectReference {
	t.Helper()
	var refs []configv1.ObjectReference
	for _, m := range all {
		refs = append(refs, m.reference(t))
	}
	return refs
}

// assetsOf returns the objects that the operator applies on a platform.
func assetsOf(t *testing.T, p platform.Platform) []manifest {
	t.Helper()
	folders := []string{"bindata/assets/resources", "bindata/assets/metrics"}
	if slices.Contains(platformFolders(t), p.Name) {
		folders = append(folders, "bindata/assets/platforms/"+p.Name)
	}
	if p.NodeManagerImage != "" {
		folders = append(folders, "bindata/assets/node-manager/resources")
	}
	if p.Preflight {
		folders = append(folders, "bindata/assets/preflight/resources")
	}
	var all []manifest
	for _, folder := range folders {
		all = append(all, objectsIn(t, folder)...)
	}
	return all
}

func TestEveryRelatedObjectExistsOnItsPlatform(t *testing.T) {
	for _, p := range platform.All() {
		t.Run(p.Name, func(t *testing.T) {
			existing := append(references(t, payload(t)), ofOthers...)
			existing = append(existing, references(t, assetsOf(t, p))...)
			related, err := clusteroperatorstatus.PlatformObjects(p, staticresources.Rights)
			require.NoError(t, err)
			related = append(related, clusteroperatorstatus.RelatedObjects()...)
			for _, object := range related {
				require.Contains(t, existing, object)
			}
			unique := map[configv1.ObjectReference]bool{}
			for _, object := range related {
				require.False(t, unique[object], "%v is listed twice", object)
				unique[object] = true
			}
		})
	}
}

// must-gather collects rights only from the related objects.
func TestEveryRightOfAPlatformIsRelated(t *testing.T) {
	bound := map[configv1.ObjectReference]bool{}
	for _, p := range platform.All() {
		if !p.Managed() {
			continue
		}
		related, err := clusteroperatorstatus.PlatformObjects(p, staticresources.Rights)
		require.NoError(t, err)
		related = append(related, clusteroperatorstatus.RelatedObjects()...)
		for _, object := range references(t, assetsOf(t, p)) {
			if object.Group == rbacv1.GroupName || object.Group == "admissionregistration.k8s.io" {
				require.Contains(t, related, object, p.Name)
			}
		}
		for _, object := range related {
			bound[object] = true
		}
	}
	for _, object := range references(t, payload(t)) {
		if strings.HasPrefix(object.Name, "system:openshift:cloud-controller-manager:support") {
			continue // nobody has it until an administrator binds it
		}
		isRight := object.Group == rbacv1.GroupName || object.Group == "admissionregistration.k8s.io" || object.Resource == "credentialsrequests"
		// That of cluster monitoring concerns no CCM.
		if isRight && object.Name != "prometheus-k8s" {
			require.True(t, bound[object], "%v is related on no platform", object)
		}
	}
}

func TestEveryPlatformNamesTheRequestForItsSecret(t *testing.T) {
	secrets := map[string]string{}
	for _, m := range payload(t) {
		if request, ok := m.object.(*credentialsRequest); ok {
			secrets[m.meta(t).GetName()] = request.Spec.SecretRef.Name
		}
	}
	for _, p := range platform.All() {
		if p.Credentials.Secret == "" || p.Credentials.ByHand {
			require.Empty(t, p.Credentials.Request, p.Name)
			continue
		}
		require.Equal(t, p.Credentials.Secret, secrets[p.Credentials.Request], p.Name)
	}
}
