package architecture

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	imagev1 "github.com/openshift/api/image/v1"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/clusteroperatorstatus"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	operatorImageTag  = "cluster-cloud-controller-manager-operator"
	operatorNamespace = "openshift-cloud-controller-manager-operator"
	operandNamespace  = "openshift-cloud-controller-manager"
)

func TestEveryManifestIsInTheRightPayloads(t *testing.T) {
	for _, m := range append(payload(t), deleted(t)...) {
		annotations := m.meta(t).GetAnnotations()
		require.Equal(t, "true", annotations["include.release.openshift.io/self-managed-high-availability"], m.name(t))
		require.Equal(t, "true", annotations["include.release.openshift.io/single-node-developer"], m.name(t))
		require.NotContains(t, annotations, "include.release.openshift.io/ibm-cloud-managed",
			"%s: a hosted control plane runs its own cloud-controller-manager", m.name(t))
		// Adding a capability to an existing object would enable the capability in every cluster.
		capability := "CloudControllerManager"
		if _, ok := m.object.(*credentialsRequest); ok {
			capability = "CloudCredential+CloudControllerManager"
		}
		require.Equal(t, capability, annotations["capability.openshift.io/name"], m.name(t))
	}
}

func TestFileNamesGiveTheOrderOfThePayload(t *testing.T) {
	// What needs the kinds of cluster monitoring is in the run level after them, like that of the other operators.
	named := regexp.MustCompile(`^0000_(26|90)_cloud-controller-manager-operator_\d\d_[a-z.-]+\.yaml$`)
	entries, err := os.ReadDir(filepath.Join(root, "manifests"))
	require.NoError(t, err)
	for _, entry := range entries {
		if !slices.Contains([]string{"image-references", "manifests.go"}, entry.Name()) {
			require.Regexp(t, named, entry.Name())
		}
	}

	all := payload(t)
	require.IsType(t, &corev1.Namespace{}, all[0].object, "whatever is in a namespace comes after it")
	last, ok := lastToWaitFor(t).object.(*configv1.ClusterOperator)
	require.True(t, ok, "the cluster-version-operator waits for the ClusterOperator, so it comes last")
	require.Equal(t, []configv1.OperandVersion{
		{Name: "operator", Version: "0.0.1-snapshot"},
		{Name: "operator-image", Version: operatorDeployment(t).Spec.Template.Spec.Containers[0].Image},
	}, last.Status.Versions)
}

// lastToWaitFor returns the last object of the operator's own run level.
func lastToWaitFor(t *testing.T) manifest {
	t.Helper()
	all := slices.DeleteFunc(payload(t), func(m manifest) bool { return !strings.HasPrefix(path.Base(m.file), "0000_26_") })
	return all[len(all)-1]
}

// The cluster-version-operator waits at the ClusterOperator until the predecessor's pods have ended.
func TestWhatThePredecessorLeftIsDeletedAfterItHasEnded(t *testing.T) {
	last := lastToWaitFor(t).file
	name := func(m manifest) string {
		return m.object.GetObjectKind().GroupVersionKind().GroupKind().String() + " " + m.meta(
			t,
		).GetNamespace() + "/" + m.meta(
			t,
		).GetName()
	}
	var ours []string
	for _, dir := range allDirs {
		for _, m := range objectsIn(t, dir) {
			ours = append(ours, name(m))
		}
	}
	for _, m := range deleted(t) {
		require.Greater(t, m.file, last, m.name(t))
		require.Equal(
			t,
			"true",
			m.meta(t).GetAnnotations()[deleteAnnotation],
			"%s: the only value that is allowed",
			m.name(t),
		)
		require.NotContains(t, ours, name(m))
	}
}

func TestRegistryFoldersAndPayloadAgree(t *testing.T) {
	var images, environment, folders []string
	for _, p := range platform.All() {
		if !p.Managed() {
			require.Empty(t, filesUnder(t, "bindata/assets/platforms/"+p.Name, ""), "platform %s runs nothing", p.Name)
			continue
		}
		for _, tag := range p.Images() {
			if !slices.Contains(images, tag) {
				images = append(images, tag)
				environment = append(environment, platform.ImageEnv(tag))
			}
		}
		folders = append(folders, p.Name)
	}

	require.ElementsMatch(t, append(images, operatorImageTag), imageTags(t), "tags of manifests/image-references")
	require.ElementsMatch(t, folders, platformFolders(t), "folders of bindata/assets/platforms")
	var inDeployment []string
	for _, variable := range operatorContainer(t).Env {
		if regexp.MustCompile(`^[A-Z0-9_]+_IMAGE$`).MatchString(variable.Name) && variable.Name != "OPERATOR_IMAGE" {
			inDeployment = append(inDeployment, variable.Name)
		}
	}
	require.ElementsMatch(t, environment, inDeployment, "image variables of the operator's Deployment")
}

// Every file of a platform is optional, so a misspelled name would be ignored silently.
func TestEveryFileOfAPlatformIsOneThatIsRead(t *testing.T) {
	names := []string{"config.yaml", "pod-patch.yaml", "node-manager-patch.yaml"}
	for _, phase := range []operand.Phase{operand.OperatorPhase(), operand.BootstrapPhase(), operand.PreflightPhase()} {
		names = append(names, phase.Name+"-config.yaml", phase.Name+"-patch.yaml", phase.Name+"-pinned.yaml")
	}
	for _, p := range platform.All() {
		folder := "bindata/assets/platforms/" + p.Name
		for _, file := range filesUnder(t, folder, "") {
			name := strings.TrimPrefix(file, folder+"/")
			if strings.HasPrefix(name, "resources/") {
				require.Equal(t, "resources", path.Dir(name), "%s: no folder below is read", file)
				continue
			}
			require.Contains(t, names, name, file)
			require.False(
				t,
				name == "node-manager-patch.yaml" && p.NodeManagerImage == "",
				"%s: this platform has no node manager",
				file,
			)
		}
	}
}

func TestEveryPlatformsImageVariableHoldsItsImage(t *testing.T) {
	names := imageNames(t)
	want := map[string]string{"OPERATOR_IMAGE": names[operatorImageTag]}
	for _, p := range platform.All() {
		for _, tag := range p.Images() {
			want[platform.ImageEnv(tag)] = names[tag]
		}
	}
	container := operatorContainer(t)
	require.Equal(t, names[operatorImageTag], container.Image)
	for variable, image := range want {
		require.Contains(t, container.Env, corev1.EnvVar{Name: variable, Value: image})
	}
}

func TestTheVersionsOfTheDeploymentAreReplacedInARelease(t *testing.T) {
	for _, variable := range []string{"OPERATOR_IMAGE_VERSION", "OPERAND_IMAGE_VERSION"} {
		require.Contains(t, operatorContainer(t).Env, corev1.EnvVar{Name: variable, Value: "0.0.1-snapshot"})
	}
}

func TestEveryPlatformsSecretIsAskedFor(t *testing.T) {
	asked := map[string]string{}
	for _, m := range payload(t) {
		if request, ok := m.object.(*credentialsRequest); ok {
			asked[request.Spec.SecretRef.Name] = request.Spec.SecretRef.Namespace
		}
	}
	want := map[string]string{}
	for _, p := range platform.All() {
		if p.Credentials.ByHand {
			require.Empty(
				t,
				p.Image,
				"platform %s: a cloud of the release is one that the cloud-credential-operator knows; write a "+
					"CredentialsRequest instead of ByHand, or take the image out of the payload",
				p.Name,
			)
			require.NotEmpty(t, p.Credentials.Secret, p.Name)
			continue
		}
		if p.Credentials.Secret != "" {
			want[p.Credentials.Secret] = operandNamespace
		}
	}
	require.Equal(t, want, asked)
}

// A CredentialsRequest applies only to clouds of its kind, so two platforms may share a Secret but not a request.
func TestNoTwoCredentialsRequestsAreOfOneKind(t *testing.T) {
	kinds := map[string]string{}
	for _, m := range payload(t) {
		request, ok := m.object.(*credentialsRequest)
		if !ok {
			continue
		}
		var spec metav1.TypeMeta
		require.NoError(t, yaml.Unmarshal(request.Spec.ProviderSpec.Raw, &spec), m.name(t))
		require.Equal(t, "cloudcredential.openshift.io/v1", spec.APIVersion, m.name(t))
		require.Empty(t, kinds[spec.Kind], "%s asks for the same kind", m.name(t))
		kinds[spec.Kind] = m.name(t)
	}
}

// onEveryPlatform are the policies about identities that are the same on every platform. They also hold while the
// operator does not run, and one limits the operator itself.
var onEveryPlatform = []string{
	"openshift-cloud-controller-manager-node-deletion", "openshift-cloud-controller-manager-operator-nodes",
	"openshift-cloud-controller-manager-operand-nodes", "openshift-cloud-controller-manager-operand-services",
	"openshift-cloud-controller-manager-operand-events",
}

// The cluster-version-operator creates the policies in every cluster; a policy has no effect without its binding.
func TestEveryAdmissionPolicyIsBoundByThePlatformThatNeedsIt(t *testing.T) {
	policies := map[string]bool{}
	for _, m := range payload(t) {
		if policy, ok := m.object.(*admissionv1.ValidatingAdmissionPolicy); ok {
			policies[policy.Name] = false
			require.Equal(t, admissionv1.Fail, ptr.Deref(policy.Spec.FailurePolicy, ""), m.name(t))
		}
	}
	for _, m := range payload(t) {
		if _, ok := m.object.(*admissionv1.ValidatingAdmissionPolicyBinding); ok {
			require.Contains(t, onEveryPlatform, m.meta(t).GetName(), "%s: the payload is the same on every platform", m.name(t))
		}
	}
	for _, m := range append(payload(t), objectsIn(t, "bindata")...) {
		if binding, ok := m.object.(*admissionv1.ValidatingAdmissionPolicyBinding); ok {
			require.Contains(t, policies, binding.Spec.PolicyName, m.name(t))
			policies[binding.Spec.PolicyName] = true
			require.Equal(t, []admissionv1.ValidationAction{admissionv1.Deny}, binding.Spec.ValidationActions, m.name(t))
		}
	}
	for policy, bound := range policies {
		require.True(t, bound, "policy %s is not bound", policy)
	}
}

// Before the operator runs, must-gather reads the manifest, and afterwards the operator's status.
func TestRelatedObjectsAreTheSameBeforeAndAfterTheOperatorRuns(t *testing.T) {
	clusterOperator, ok := lastToWaitFor(t).object.(*configv1.ClusterOperator)
	require.True(t, ok)
	require.Equal(t, clusteroperatorstatus.RelatedObjects(), clusterOperator.Status.RelatedObjects)
}

// The predecessor's Deployment is updated in place, and its selector is immutable.
func TestTheDeploymentKeepsItsSelector(t *testing.T) {
	deployment := operatorDeployment(t)
	require.Equal(t, "cluster-cloud-controller-manager-operator", deployment.Name)
	require.Equal(t, operatorNamespace, deployment.Namespace)
	require.Equal(t, map[string]string{"k8s-app": "cloud-manager-operator"}, deployment.Spec.Selector.MatchLabels)
	require.Equal(t, "cluster-cloud-controller-manager", deployment.Spec.Template.Spec.ServiceAccountName)
}

// The cluster-version-operator applies early objects again later, and would revert differences.
func TestTheBootstrapNodesManifestsAreThoseOfThePayload(t *testing.T) {
	later := map[string]runtime.Object{}
	for _, m := range payload(t) {
		later[objectName(t, m)] = m.object
	}
	for _, m := range objectsIn(t, "bootstrap/manifests") {
		require.Equal(t, later[objectName(t, m)], m.object, m.name(t))
	}
}

// objectName identifies an object across files.
func objectName(t *testing.T, m manifest) string {
	t.Helper()
	object := m.meta(t)
	return fmt.Sprintf("%s %s/%s", m.object.GetObjectKind().GroupVersionKind(), object.GetNamespace(), object.GetName())
}

func operatorDeployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	for _, m := range payload(t) {
		if deployment, ok := m.object.(*appsv1.Deployment); ok {
			return deployment
		}
	}
	require.Fail(t, "the payload has no Deployment")
	return nil
}

func operatorContainer(t *testing.T) corev1.Container {
	t.Helper()
	containers := operatorDeployment(t).Spec.Template.Spec.Containers
	require.Len(t, containers, 1)
	return containers[0]
}

// imageNames maps the tags of image-references to the names that a release build replaces.
func imageNames(t *testing.T) map[string]string {
	t.Helper()
	var stream imagev1.ImageStream
	require.NoError(t, yaml.UnmarshalStrict(read(t, "manifests/image-references"), &stream))
	names := map[string]string{}
	for _, tag := range stream.Spec.Tags {
		require.Equal(t, "DockerImage", tag.From.Kind)
		require.NotContains(t, names, tag.Name)
		names[tag.Name] = tag.From.Name
	}
	return names
}

func imageTags(t *testing.T) []string {
	t.Helper()
	var tags []string
	for tag := range imageNames(t) {
		tags = append(tags, tag)
	}
	return tags
}

func platformFolders(t *testing.T) []string {
	t.Helper()
	var folders []string
	for _, file := range filesUnder(t, "bindata/assets/platforms", "") {
		_, below, _ := strings.Cut(filepath.ToSlash(file), "bindata/assets/platforms/")
		folder, _, _ := strings.Cut(below, "/")
		folders = append(folders, folder)
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}
