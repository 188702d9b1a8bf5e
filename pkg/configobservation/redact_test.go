package configobservation

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	"github.com/openshift/library-go/pkg/operator/configobserver/proxy"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	kubeinformers "k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	apisv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

func TestPasswordsOfProxiesAreInNoEvent(t *testing.T) {
	const secret = "c4n4ry"
	instance := metav1.ObjectMeta{Name: "cluster"}
	client := configfake.NewClientset(
		&configv1.Infrastructure{ObjectMeta: instance, Status: configv1.InfrastructureStatus{
			PlatformStatus: &configv1.PlatformStatus{Type: configv1.OpenStackPlatformType},
		}},
		&configv1.Proxy{ObjectMeta: instance, Status: configv1.ProxyStatus{
			HTTPProxy:  "http://user:" + secret + "@proxy.example.com:3128",
			HTTPSProxy: "https://user:&" + secret + "@" + secret + "@proxy.example.com:3129",
			NoProxy:    ".cluster.local",
		}},
	)
	informers := configinformers.NewSharedInformerFactory(client, 0)
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	operator := v1helpers.NewFakeOperatorClient(
		&operatorv1.OperatorSpec{ManagementState: operatorv1.Managed},
		&operatorv1.OperatorStatus{},
		nil,
	)
	kube := kubeinformers.NewSharedInformerFactory(kubefake.NewClientset(), 0)
	config, authentication := informers.Config().V1(), kube.Core().V1().ConfigMaps()
	listers := NewListers(
		operator,
		func() (*apisv1.CustomCloudControllerManager, error) { return nil, nil },
		func() (*apisv1.CloudControllerManagerNodeInitialization, error) { return nil, nil },
		config,
		authentication,
		"4.23.0",
	)
	listers.Predecessor = func() (bool, error) { return false, nil }
	controller := New(operator, listers, recorder)
	ctx, stop := context.WithCancel(t.Context())
	informers.Start(ctx.Done())
	kube.Start(ctx.Done())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		controller.Run(ctx, 1)
	}()
	defer func() {
		stop()
		<-ended
	}()

	messages := func() string {
		var all []string
		for _, event := range recorder.Events() {
			all = append(all, event.Reason+": "+event.Message)
		}
		return strings.Join(all, "\n")
	}
	require.NoError(
		t,
		wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			return strings.Contains(messages(), "ObservedConfigChanged"), nil
		}),
	)
	require.NotContains(t, messages(), secret)
	require.Contains(t, messages(), `"HTTPS_PROXY":"https://<redacted>@proxy.example.com:3129"`)
	require.Contains(t, messages(), `"HTTP_PROXY": "http://<redacted>@proxy.example.com:3128"`)
}

// This is the reason for redacting.
func TestWhatTheProxyObserverRecordsByItself(t *testing.T) {
	informer := configinformers.NewSharedInformerFactory(configfake.NewClientset(), 0).Config().V1().Proxies()
	require.NoError(t, informer.Informer().GetIndexer().Add(&configv1.Proxy{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Status:     configv1.ProxyStatus{HTTPProxy: "http://user:c4n4ry@proxy.example.com:3128"},
	}))
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	_, errs := proxy.NewProxyObserveFunc([]string{"proxy"})(Listers{Proxies: informer.Lister()}, recorder, nil)
	require.Empty(t, errs)
	require.Len(t, recorder.Events(), 1)
	require.Contains(t, recorder.Events()[0].Message, "c4n4ry")
}

func TestEveryKindOfEventIsRedacted(t *testing.T) {
	inner := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	recorder := redacting(inner)
	for _, r := range []events.Recorder{
		recorder, recorder.ForComponent("a"), recorder.WithComponentSuffix("b"), recorder.WithContext(t.Context()),
	} {
		r.Event("Reason", "http://u:p@h and the rest")
		r.Eventf("Reason", "%q and the rest", "http://u:p@h")
		r.Warning("Reason", "http://u:p@h")
		r.Warningf("Reason", "%v", fmt.Errorf("http://u:p/w@h"))
	}
	got := map[string]int{}
	for _, event := range inner.Events() {
		got[event.Type+" "+event.Message]++
	}
	require.Equal(t, map[string]int{
		"Normal http://<redacted>@h and the rest": 4, `Normal "http://<redacted>@h" and the rest`: 4, "Warning " +
			"http://<redacted>@h": 8,
	}, got)
}
