package integration_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	configclient "github.com/openshift/client-go/config/clientset/versioned"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

// sharedWithPredecessor are objects of both payloads, which the cluster-version-operator of either release overwrites.
// The development cluster's predecessor does not have them, because its operator does not run.
var sharedWithPredecessor = []string{
	"clusterrolebindings/system:openshift:operator:cloud-controller-manager",
	"clusterroles/system:openshift:operator:cloud-controller-manager",
	"credentialsrequests -n openshift-cloud-credential-operator openshift-azure-cloud-controller-manager",
	"credentialsrequests -n openshift-cloud-credential-operator openshift-gcp-ccm",
	"credentialsrequests -n openshift-cloud-credential-operator openshift-ibm-cloud-controller-manager",
	"credentialsrequests -n openshift-cloud-credential-operator openshift-nutanix-cloud-controller-manager",
	"credentialsrequests -n openshift-cloud-credential-operator openshift-openstack-cloud-controller-manager",
	"credentialsrequests -n openshift-cloud-credential-operator openshift-powervs-cloud-controller-manager",
	"credentialsrequests -n openshift-cloud-credential-operator openshift-vsphere-cloud-controller-manager",
	"deployments -n openshift-cloud-controller-manager-operator cluster-cloud-controller-manager-operator",
	"leases -n openshift-cloud-controller-manager cloud-controller-manager",
	"networkpolicies -n openshift-cloud-controller-manager default-deny",
	"networkpolicies -n openshift-cloud-controller-manager-operator default-deny",
	"rolebindings -n kube-system cluster-cloud-controller-manager",
	"rolebindings -n openshift-cloud-controller-manager-operator cluster-cloud-controller-manager",
	"rolebindings -n openshift-config cluster-cloud-controller-manager",
	"rolebindings -n openshift-config-managed cluster-cloud-controller-manager",
	"roles -n kube-system cluster-cloud-controller-manager",
	"roles -n openshift-cloud-controller-manager-operator cluster-cloud-controller-manager",
	"roles -n openshift-config cluster-cloud-controller-manager",
	"roles -n openshift-config-managed cluster-cloud-controller-manager",
	"services -n openshift-cloud-controller-manager-operator cloud-controller-manager-operator",
}

// passing are resources whose objects come and go by themselves, or are of the test.
var passing = []string{
	"componentstatuses", "controllerrevisions", "csinodes", "endpoints", "endpointslices", "events", "ipaddresses", "nodes", "pods",
	"replicasets",
}

// The cluster-version-operator deletes nothing that only another release had. So the document has to say what is left
// after the way back to the predecessor, and how to delete what is of no use.
func TestTheDocumentSaysWhatAWayBackLeaves(t *testing.T) {
	t.Parallel()
	started, err := devcluster.Start(t.Context(), devcluster.Options{
		Dir: filepath.Join(t.TempDir(), "run"), Platform: configv1.OpenStackPlatformType, WithoutPayload: true, Progress: t.Output(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, started.Stop(context.WithoutCancel(t.Context()))) })
	c := &cluster{Cluster: started}
	c.kube, err = kubernetes.NewForConfig(started.RESTConfig())
	require.NoError(t, err)
	c.config, err = configclient.NewForConfig(started.RESTConfig())
	require.NoError(t, err)
	c.dynamic, err = dynamic.NewForConfig(started.RESTConfig())
	require.NoError(t, err)
	require.NoError(t, c.InstallPredecessor(t.Context(), devcluster.Predecessor{}))
	for _, namespace := range []string{targetNamespace, operatorNamespace} {
		await(t, "kube-controller-manager's objects in "+namespace, func(ctx context.Context) error {
			_, err := c.kube.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
			if err == nil {
				_, err = c.kube.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
			}
			return err
		})
	}
	before := c.everything(t)

	require.NoError(t, c.InstallPayload(t.Context()))
	k := c.startKubelet(t)
	k.runsStaticPods.Store(true)
	o := c.startOperator(t)
	c.hold(t, onlyNode+"_predecessor", time.Now().Add(-time.Hour))
	c.standBy(t)
	require.NoError(t, c.CompleteRelease(t.Context(), c.Release()))
	k.removes.Store(true)
	c.patchSpec(t, `{"spec":{"managementState":"Removed","removalPolicy":"Force"}}`)
	c.confirmRemoval(t)
	c.awaitRemoved(t)
	o.terminate(t)

	content, err := os.ReadFile("../../docs/upgrading.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(content), "\n## Going back to the predecessor\n")
	require.True(t, found)
	c.delete(t, "customresourcedefinitions/cloudcontrollermanagers.operator.openshift.io")
	require.NoError(t, c.InstallPredecessor(t.Context(), devcluster.Predecessor{}))
	left := c.since(t, before)
	var named []string
	commands := deletions(section)
	named = append(named, commands...)
	for _, match := range regexp.MustCompile("(?m)^- `([a-z]+(?:/| -n [a-z-]+ )[a-z0-9:.-]+)`").FindAllStringSubmatch(section, -1) {
		named = append(named, match[1])
	}
	slices.Sort(named)
	require.Equal(t, left, named, "what is left, and what docs/upgrading.md names")

	for _, object := range commands {
		c.delete(t, object)
	}
	for _, object := range c.since(t, before) {
		require.NotRegexp(t, `^(cluster)?role`, object, "it may grant something")
	}
}

// deletions returns the objects of the commands "oc delete".
func deletions(document string) []string {
	var objects []string
	for line := range strings.Lines(strings.ReplaceAll(document, "\\\n", " ")) {
		command, found := strings.CutPrefix(strings.TrimSpace(line), "oc delete ")
		if !found {
			continue
		}
		fields := strings.Fields(command)
		separator, names := "/", fields[1:]
		if names[0] == "-n" {
			separator, names = " -n "+names[1]+" ", names[2:]
		}
		for _, name := range names {
			objects = append(objects, fields[0]+separator+name)
		}
	}
	return objects
}

// since returns the objects that exist now and did not exist before.
func (c *cluster) since(t *testing.T, before map[string]schema.GroupVersionResource) []string {
	t.Helper()
	var objects []string
	for object := range c.everything(t) {
		if _, existed := before[object]; !existed && !slices.Contains(sharedWithPredecessor, object) {
			objects = append(objects, object)
		}
	}
	slices.Sort(objects)
	return objects
}

// everything returns the objects of the cluster as arguments of oc, with their resources.
func (c *cluster) everything(t *testing.T) map[string]schema.GroupVersionResource {
	t.Helper()
	lists, err := c.kube.Discovery().ServerPreferredResources()
	require.NoError(t, err)
	objects := map[string]schema.GroupVersionResource{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || slices.Contains(passing, resource.Name) {
				continue
			}
			of := version.WithResource(resource.Name)
			found, err := c.dynamic.Resource(of).List(t.Context(), metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue // its definition was deleted
			}
			require.NoError(t, err, of)
			for _, object := range found.Items {
				if object.GetNamespace() == "kube-node-lease" {
					continue // one for each Node
				}
				name := resource.Name + "/" + object.GetName()
				if object.GetNamespace() != "" {
					name = resource.Name + " -n " + object.GetNamespace() + " " + object.GetName()
				}
				objects[name] = of
			}
		}
	}
	return objects
}

func (c *cluster) delete(t *testing.T, object string) {
	t.Helper()
	all := c.everything(t)
	require.Contains(t, slices.Collect(maps.Keys(all)), object)
	fields := strings.FieldsFunc(object, func(r rune) bool { return r == ' ' || r == '/' })
	resource := c.dynamic.Resource(all[object])
	var err error
	if len(fields) == 4 {
		err = resource.Namespace(fields[2]).Delete(t.Context(), fields[3], metav1.DeleteOptions{})
	} else {
		err = resource.Delete(t.Context(), fields[1], metav1.DeleteOptions{})
	}
	require.NoError(t, err, object)
	if strings.HasPrefix(object, "customresourcedefinitions/") {
		await(t, "the end of "+object, func(context.Context) error {
			if _, exists := c.everything(t)[object]; exists {
				return fmt.Errorf("%s exists", object)
			}
			return nil
		})
	}
}
