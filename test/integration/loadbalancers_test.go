package integration_test

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestAServiceThatTheCloudRefusesIsNamedUntilItIsServed(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitCondition(t, "LoadBalancerNotices", operatorv1.ConditionFalse, "")
	services := c.kube.CoreV1().Services(metav1.NamespaceDefault)
	create := func(name string, change func(*corev1.ServiceSpec)) *corev1.Service {
		spec := corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}}
		change(&spec)
		service, err := services.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec},
			metav1.CreateOptions{})
		require.NoError(t, err)
		return service
	}
	create("internal", func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeClusterIP })
	create("of-another-class", func(s *corev1.ServiceSpec) { s.LoadBalancerClass = ptr.To("example.com/other") })
	web := create("web", func(*corev1.ServiceSpec) {})
	began := time.Now()
	warn := func(component, message string) {
		_, err := c.kube.CoreV1().Events(web.Namespace).Create(t.Context(), &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{GenerateName: "web-"},
			InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: web.Namespace, Name: web.Name, UID: web.UID},
			Source:         corev1.EventSource{Component: component}, Type: corev1.EventTypeWarning,
			Reason: "SyncLoadBalancerFailed", Message: message, LastTimestamp: metav1.Now(),
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	warn("service-controller", "Error syncing load balancer: quota exceeded")
	warn("another-controller", "not ours")
	// It waits since the operator has seen it, perhaps a second after its creation.
	notice := regexp.MustCompile("^" + regexp.QuoteMeta("Services of type LoadBalancer that wait for the cloud-controller-manager: 1: "+
		"service/web in default (without an address since ") + `[-0-9T:]+Z` + regexp.QuoteMeta(
		`; "SyncLoadBalancerFailed: Error syncing load balancer: quota exceeded"); the quotes are Events, which tenants `+
			"can write, too: compare them with the leader's log, and correct what they name; where there is none, check that a "+
			"cloud-controller-manager leads, and that the cloud configuration enables load balancers") + "$")
	await(t, "the Service to be named", func(ctx context.Context) error {
		resource, err := c.resource(ctx)
		if err != nil {
			return err
		}
		condition := v1helpers.FindOperatorCondition(resource.Status.Conditions, "LoadBalancerNotices")
		if condition == nil || !notice.MatchString(condition.Message) {
			return fmt.Errorf("there is %+v", condition)
		}
		return nil
	})
	t.Logf("named after %s", time.Since(began).Round(time.Second))

	began = time.Now()
	web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	_, err := services.UpdateStatus(t.Context(), web, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.awaitCondition(t, "LoadBalancerNotices", operatorv1.ConditionFalse, "")
	t.Logf("ended after %s", time.Since(began).Round(time.Second))
}
