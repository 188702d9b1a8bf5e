package operandhealth

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestTheControllersThatAProcessHasStarted(t *testing.T) {
	for name, tc := range map[string]struct {
		health string
		want   []string
	}{
		"a leader": {"[+]leaderElection ok\n[+]service-lb-controller ok\n[+]cloud-node-controller ok\nhealthz check passed\n",
			[]string{"cloud-node-controller", "service-lb-controller"}},
		"a check that fails":   {"[-]cloud-node-controller failed: reason withheld\n", []string{"cloud-node-controller"}},
		"a standby":            {"[+]leaderElection ok\nhealthz check passed\n", nil},
		"none that are listed": {"ok", nil},
		"a name that no controller has": {"[+]" + strings.Repeat("9", maxName+1) + " ok\n[+]cloud-node-controller ok\n",
			[]string{"cloud-node-controller"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, controllers(tc.health)) })
	}
}

func TestACompromisedProcessCannotListAnyNumberOfControllers(t *testing.T) {
	health := ""
	for i := range 1000 {
		health += fmt.Sprintf("[+]controller-%d ok\n", i)
	}
	require.Len(t, controllers(health), maxControllers)
}

// The name of the certificate is checked, although the address is another one.
func TestOnlyAProcessWithTheServingCertificateIsAsked(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("[+]" + r.URL.String() + " ok\n"))
	}))
	defer server.Close()
	host, text, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "cloud-controller-manager", LivenessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt(port)}},
		}}}},
		Status: corev1.PodStatus{HostIP: host},
	}
	pod.Name = "cloud-controller-manager-m0"
	_, err = Controllers(t.Context(), pod, nil, nil)
	require.EqualError(t, err, "no CA of the serving certificate of pod/cloud-controller-manager-m0")
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	_, err = Controllers(t.Context(), pod, bundle, nil)
	require.ErrorContains(t, err, "not cloud-controller-manager.openshift-cloud-controller-manager.svc")

	pod.Status.HostIP = ""
	_, err = Controllers(t.Context(), pod, bundle, nil)
	require.EqualError(t, err, "pod/cloud-controller-manager-m0 has no address yet", "the operator's own host would answer")
}
