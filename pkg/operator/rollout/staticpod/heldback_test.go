package staticpod

import (
	"errors"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

func TestARevisionThatIsHeldBackIsReported(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	target := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	c := &heldBackRevisions{
		operator:   v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{}, &operatorv1.StaticPodOperatorStatus{}, nil, nil),
		configMaps: target.Core().V1().ConfigMaps().Lister().ConfigMaps(operand.Namespace),
		reason:     heldBack(Options{Target: target}),
		clock:      clock,
	}
	store := func(secret *corev1.Secret) {
		secret.Namespace = operand.Namespace
		require.NoError(t, target.Core().V1().Secrets().Informer().GetStore().Add(secret))
	}
	run := func() string {
		require.NoError(t, c.sync(t.Context(), factory.NewSyncContext("test", events.NewInMemoryRecorder("test", clock))))
		_, status, _, err := c.operator.GetStaticPodOperatorState()
		require.NoError(t, err)
		found := v1helpers.FindOperatorCondition(status.Conditions, HeldBackCondition)
		require.NotNil(t, found)
		return string(found.Status) + " " + found.Message
	}
	require.Equal(t, "False ", run(), "without a candidate there is nothing to hold back")

	configMaps, secrets := candidate(t, "")
	for _, object := range configMaps {
		if object.Name == operand.PodConfigMap {
			object.Annotations[customccm.ReloadedAnnotation] = "session"
		}
		require.NoError(t, target.Core().V1().ConfigMaps().Informer().GetStore().Add(object))
	}
	for _, object := range secrets {
		store(object)
	}
	require.Equal(t, "False ", run())
	clock.Step(59 * time.Second)
	require.Equal(t, "False ", run(), "they may come")
	clock.Step(time.Second)
	const held = "True the accepted configuration is not rolled out: secret/cloud-tokens in openshift-cloud-controller-manager does not have " +
		"session, which the cloud-controller-manager reads; check the other Degraded conditions for the cause"
	require.Equal(t, held, run())

	store(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloud-tokens"}, Data: map[string][]byte{"session": nil}})
	require.Equal(t, "False ", run())
	store(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloud-tokens"}})
	clock.Step(time.Hour)
	require.Equal(t, "False ", run(), "the time starts anew")

	c.reason = func() (string, error) { return "", errors.New("no cache") }
	require.EqualError(t, c.sync(t.Context(), nil), "no cache")
}

func TestItComesBackByItselfWhenARevisionWasHeldBackForTooLong(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	target := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	pod := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: operand.PodConfigMap}}
	require.NoError(t, target.Core().V1().ConfigMaps().Informer().GetStore().Add(pod))
	c := &heldBackRevisions{
		operator:   v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{}, &operatorv1.StaticPodOperatorStatus{}, nil, nil),
		configMaps: target.Core().V1().ConfigMaps().Lister().ConfigMaps(operand.Namespace),
		reason:     func() (string, error) { return "a token is missing", nil },
		clock:      clock,
	}
	calls, err := controllertest.NewTimer(clock, events.NewInMemoryRecorder("test", clock)).Run(t.Context(), c.sync, time.Hour)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, heldBackGracePeriod}, calls)
}
