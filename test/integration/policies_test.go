package integration_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
)

const (
	lbType      = "service.beta.kubernetes.io/aws-load-balancer-type"
	idleTimeout = "service.beta.kubernetes.io/azure-load-balancer-tcp-idle-timeout"
	networkTier = "cloud.google.com/network-tier"
)

// TestAdmissionPolicies evaluates the payload's policies in a real API server. The test binds them as the operator
// does on their platforms.
func TestAdmissionPolicies(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.NonePlatformType)
	// The Service has these values from before the policies.
	old := c.createService(t, map[string]string{lbType: "nlb", idleTimeout: "999", networkTier: "Gold"})
	c.bindServicePolicies(t)
	c.awaitServicePolicies(t, old)

	for name, tc := range map[string]struct {
		annotation, value string
		rejected          bool
	}{
		"a new Service may have any type of load balancer": {lbType, "external", false},
		"four minutes are enough":                          {idleTimeout, "4", false},
		"a hundred minutes are not too many":               {idleTimeout, "100", false},
		"three minutes are too few":                        {idleTimeout, "3", true},
		"a hundred and one minutes are too many":           {idleTimeout, "101", true},
		"a number that no integer can hold is rejected":    {idleTimeout, "99999999999999999999", true},
		"a duration is no number of minutes":               {idleTimeout, "10m", true},
		"an empty text is no number of minutes":            {idleTimeout, "", true},
		"the standard tier is one":                         {networkTier, "Standard", false},
		"the premium tier is one":                          {networkTier, "Premium", false},
		"a tier in small letters is none":                  {networkTier, "premium", true},
		"other annotations may have any value":             {"example.com/x", "y", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.kube.CoreV1().Services("default").Create(t.Context(), service(map[string]string{tc.annotation: tc.value}), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			requireRejected(t, err, tc.rejected, tc.annotation)
		})
	}
	for name, tc := range map[string]struct {
		change     func(annotations map[string]string)
		rejected   bool
		annotation string
	}{
		"what a Service has already is left alone":         {change: func(a map[string]string) { a["example.com/x"] = "y" }},
		"a wrong tier may be removed":                      {change: func(a map[string]string) { delete(a, networkTier) }},
		"a wrong timeout may not be made another":          {change: func(a map[string]string) { a[idleTimeout] = "998" }, rejected: true, annotation: idleTimeout},
		"a wrong timeout may be made a right one":          {change: func(a map[string]string) { a[idleTimeout] = "30" }},
		"the type of a load balancer may not be changed":   {change: func(a map[string]string) { a[lbType] = "clb" }, rejected: true, annotation: lbType},
		"the type of a load balancer may not be forgotten": {change: func(a map[string]string) { delete(a, lbType) }, rejected: true, annotation: lbType},
	} {
		t.Run(name, func(t *testing.T) {
			changed := old.DeepCopy()
			tc.change(changed.Annotations)
			_, err := c.kube.CoreV1().Services("default").Update(t.Context(), changed, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			requireRejected(t, err, tc.rejected, tc.annotation)
		})
	}
}

// awaitServicePolicies waits until each policy rejects something: the API server begins to apply them one by one.
func (c *cluster) awaitServicePolicies(t *testing.T, old *corev1.Service) {
	t.Helper()
	services, dryRun := c.kube.CoreV1().Services("default"), []string{metav1.DryRunAll}
	changed := old.DeepCopy()
	delete(changed.Annotations, lbType)
	for annotation, request := range map[string]func(ctx context.Context) error{
		idleTimeout: func(ctx context.Context) error {
			_, err := services.Create(ctx, service(map[string]string{idleTimeout: "x"}), metav1.CreateOptions{DryRun: dryRun})
			return err
		},
		networkTier: func(ctx context.Context) error {
			_, err := services.Create(ctx, service(map[string]string{networkTier: "x"}), metav1.CreateOptions{DryRun: dryRun})
			return err
		},
		lbType: func(ctx context.Context) error {
			_, err := services.Update(ctx, changed, metav1.UpdateOptions{DryRun: dryRun})
			return err
		},
	} {
		await(t, "the policy about "+annotation, func(ctx context.Context) error {
			if request(ctx) == nil {
				return errors.New("a Service is admitted that it forbids")
			}
			return nil
		})
	}
}

func requireRejected(t *testing.T, err error, rejected bool, annotation string) {
	t.Helper()
	if !rejected {
		require.NoError(t, err)
		return
	}
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	require.ErrorContains(t, err, "the annotation "+annotation+" ")
}

func service(annotations map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "s-", Annotations: annotations},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

func (c *cluster) createService(t *testing.T, annotations map[string]string) *corev1.Service {
	t.Helper()
	created, err := c.kube.CoreV1().Services("default").Create(t.Context(), service(annotations), metav1.CreateOptions{})
	require.NoError(t, err)
	return created
}

// bindServicePolicies creates every policy binding in a platform's directory.
func (c *cluster) bindServicePolicies(t *testing.T) {
	t.Helper()
	files, err := fs.Glob(bindata.FS(), "assets/platforms/*/resources/validatingadmissionpolicybinding*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	bindings := c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	for _, file := range files {
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
		require.NoError(t, yaml.UnmarshalStrict(bindata.MustRead(file), binding), file)
		if _, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			require.NoError(t, err, file)
		}
	}
}
