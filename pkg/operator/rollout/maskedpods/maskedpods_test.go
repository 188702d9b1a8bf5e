package maskedpods

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

const (
	password = `c4n4ry&of"a\coal+mine<`
	short    = "c4n4ry"
	key      = "-----BEGIN PRIVATE KEY-----\nMIIBc4n4ryMIIBVQIBADANBgkqhkiG9w0BAQEFAASCAT8wggE7AgEAAkEAq7BF\n" +
		"c4n4ryUpkqR2mqRSGvXtQp1J5cQZkUM0c4n4ryk=\n-----END PRIVATE KEY-----\n"
)

func secret(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: name},
		Data:       map[string][]byte{},
	}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return string(data)
}

// secrets are those of an operand's namespace after several rollouts.
func secrets(t *testing.T) []*corev1.Secret {
	t.Helper()
	return []*corev1.Secret{
		secret("cloud-credentials", map[string]string{"azure_client_secret": "another", "azure_region": "westeurope",
			"vcenter.username": "administrator"}),
		secret("cloud-credentials-3", map[string]string{"azure_client_secret": password, "plain": short + "\n"}),
		secret("cloud-credentials-4", map[string]string{
			"service_account.json": asJSON(t, map[string]string{"private_key": key, "client_email": "ccm@example.com"}),
			"clouds.yaml":          "clouds: {openstack: {auth: {password: " + strconv.Quote(password) + "}}}",
		}),
		secret("cloud-config-3", map[string]string{"cloud.conf": "[Global]\npassword = config-c4n4ry\nregion = one\n"}),
		secret("kube-token", map[string]string{"token": "eyJhbGciOiJSUzI1NiJ9.c4n4ry.c4n4ry",
			"namespace": operand.Namespace}),
		secret("serving-cert-x", map[string]string{"tls.key": key}),
	}
}

// podsWith returns the lister of one pod with the message.
func podsWith(t *testing.T, message string) *Informers {
	t.Helper()
	raw := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	masked := NewInformers(raw, nil)
	for _, s := range secrets(t) {
		require.NoError(t, raw.Core().V1().Secrets().Informer().GetStore().Add(s))
	}
	masked.Core().V1().Pods().Informer()
	masked.Start(t.Context().Done())
	masked.WaitForCacheSync(t.Context().Done())
	// The fake API has none of them, so the first list has emptied the stores.
	for _, s := range secrets(t) {
		require.NoError(t, raw.Core().V1().Secrets().Informer().GetStore().Add(s))
	}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}}
	require.NoError(t, raw.Core().V1().Pods().Informer().GetStore().Add(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: "ccm"},
		Status: corev1.PodStatus{
			Message:               message,
			InitContainerStatuses: []corev1.ContainerStatus{{State: ended}},
			ContainerStatuses: []corev1.ContainerStatus{{LastTerminationState: ended,
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Message: message}}}},
		},
	}))
	return masked
}

// spellings are ways in which Go programs write a secret.
func spellings(t *testing.T) map[string]string {
	t.Helper()
	header := http.Header{}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com", nil)
	require.NoError(t, err)
	request.SetBasicAuth("ccm", "x")
	header.Set("X-Auth", password)
	body := asJSON(t, map[string]any{"auth": map[string]string{"pw": password}})
	form := url.Values{"x": {password}}
	texts := map[string]string{}
	for name, text := range map[string]string{
		"plain": password, "in words": "the secret " + password + " is wrong", "glued to a word": "x" + password + "y",
		"in quotes": "'" + password + "'", "%q": fmt.Sprintf("%q", password), "%+q": fmt.Sprintf("%+q", password),
		"%v of a map": fmt.Sprint(map[string]string{"x": password}), "%#v": fmt.Sprintf("%#v", []string{password}),
		"%+v of a struct": fmt.Sprintf("%+v", struct{ Pw string }{password}),
		"%v of a list":    fmt.Sprint([]string{password}),
		"JSON":            asJSON(t, password), "a body": body, "a quoted body": strconv.Quote(body),
		"a body in a body": asJSON(t, map[string]string{"err": body}), "a form": form.Encode(),
		"a query": "GET https://example.com/?" + form.Encode(), "a path": "/v1/" + url.PathEscape(password) + "/x",
		"a login":           "https://" + url.UserPassword("ccm", password).String() + "@example.com",
		"a header":          fmt.Sprint(header),
		"base64":            base64.StdEncoding.EncodeToString([]byte(password)),
		"URL's base64":      base64.URLEncoding.EncodeToString([]byte(password)),
		"raw base64":        base64.RawStdEncoding.EncodeToString([]byte(password)),
		"klog's err":        `"Failed" err=` + strconv.Quote(`cannot parse "`+password+`"`),
		"YAML":              "line 3: cannot unmarshal !!str `" + password + "` into bool",
		"a parser":          `invalid character '&' after "` + password + `"`,
		"PEM":               key,
		"a line of PEM":     strings.Split(key, "\n")[1],
		"escaped PEM":       strconv.Quote(key),
		"PEM in JSON":       asJSON(t, map[string]string{"k": key}),
		"the last line":     strings.Split(key, "\n")[2],
		"a short one":       "wrong: " + short,
		"a short quoted":    `wrong: "` + short + `"`,
		"a short URL":       "https://" + short + "@example.com",
		"a short pair":      "x=" + short + ",y=1",
		"of the config":     "option config-c4n4ry unknown",
		"a token":           "kube eyJhbGciOiJSUzI1NiJ9.c4n4ry.c4n4ry expired",
		"cut off":           password[9:] + " is wrong",
		"half cut off":      password[3:],
		"the whole file":    asJSON(t, map[string]string{"private_key": key, "client_email": "ccm@example.com"}),
		"under an odd name": "p4ss => " + password, "with a colon": "hunter: " + password,
		"in parentheses": "(" + password + ")",
		"after an arrow": "->" + password, "twice": password + password, "in HTML": "<p>" + password + "</p>",
	} {
		texts[name] = text
	}
	return texts
}

func TestNoSpellingOfASecretIsQuoted(t *testing.T) {
	all := spellings(t)
	require.GreaterOrEqual(t, len(all), 43)
	byPatterns := 0
	for name, text := range all {
		message := "F1121 09:00:01.123457       1 main.go:72] " + text + "\n"
		if strings.HasSuffix(name, "cut off") {
			message = text + "\n"
		}
		if strings.Contains(name, "PEM") {
			message = text
		}
		if !strings.Contains(terminationmessage.Summary(message), "c4n4ry") &&
			!strings.Contains(terminationmessage.Summary(message), "coal") {
			byPatterns++
		}
		t.Run(name, func(t *testing.T) {
			pods := podsWith(t, message).Core().V1().Pods().Lister().Pods(operand.Namespace)
			pod, err := pods.Get("ccm")
			require.NoError(t, err)
			listed, err := pods.List(labels.Everything())
			require.NoError(t, err)
			everywhere, err := podsWith(t, message).Core().V1().Pods().Lister().List(labels.Everything())
			require.NoError(t, err)
			for _, found := range []*corev1.Pod{pod, listed[0], everywhere[0]} {
				for _, quoted := range messages(found) {
					require.NotEmpty(t, *quoted)
					require.NotContains(t, *quoted, "c4n4ry")
					require.NotContains(t, *quoted, "coal")
					require.NotContains(t, *quoted, base64.RawStdEncoding.EncodeToString([]byte(password))[:20])
				}
			}
		})
	}
	t.Logf("the patterns alone hide %d of %d", byPatterns, len(all))
}

func TestWhatIsNoSecretIsQuoted(t *testing.T) {
	for _, message := range []string{
		"cannot log in as administrator to westeurope: 401",
		`secrets "kube-token" is forbidden in openshift-cloud-controller-manager`,
		"ccm@example.com: region one", "",
	} {
		pod, err := podsWith(t, message).Core().V1().Pods().Lister().Pods(operand.Namespace).Get("ccm")
		require.NoError(t, err)
		require.Equal(t, message, pod.Status.Message)
	}
}

func TestNothingIsQuotedBeforeTheSecretsAreKnown(t *testing.T) {
	raw := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	masked := NewInformers(raw, nil)
	require.NoError(t, raw.Core().V1().Pods().Informer().GetStore().Add(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: "ccm"},
		Status:     corev1.PodStatus{Message: password},
	}))
	require.False(t, masked.Core().V1().Pods().Informer().HasSynced())
	pod, err := masked.Core().V1().Pods().Lister().Pods(operand.Namespace).Get("ccm")
	require.NoError(t, err)
	require.Empty(t, pod.Status.Message)
}

func TestANewSecretIsMasked(t *testing.T) {
	masked := podsWith(t, "rotated-hunter2")
	pods := masked.Core().V1().Pods().Lister().Pods(operand.Namespace)
	before, err := pods.Get("ccm")
	require.NoError(t, err)
	require.Equal(t, "rotated-hunter2", before.Status.Message)
	rotated := secret("cloud-credentials", map[string]string{"azure_client_secret": "rotated-hunter2"})
	rotated.ResourceVersion = "2"
	require.NoError(t, masked.Core().V1().Secrets().Informer().GetStore().Update(rotated))
	after, err := pods.Get("ccm")
	require.NoError(t, err)
	require.Equal(t, "<azure_client_secret>", after.Status.Message)
}

func TestALineOfALogIsMasked(t *testing.T) {
	line, err := podsWith(t, "").Mask("login with " + password + " failed")
	require.NoError(t, err)
	require.NotContains(t, line, password)
	require.Contains(t, line, "login with ")

	none := NewInformers(informers.NewSharedInformerFactory(fake.NewClientset(), 0), nil)
	none.Core().V1().Pods().Informer()
	none.Start(t.Context().Done())
	none.WaitForCacheSync(t.Context().Done())
	line, err = none.Mask("login failed")
	require.NoError(t, err)
	require.Equal(t, "login failed", line, "there is no Secret")

	unknown := NewInformers(informers.NewSharedInformerFactory(fake.NewClientset(), 0), nil)
	line, err = unknown.Mask("login failed")
	require.NoError(t, err)
	require.Empty(t, line)
}

// The volume of a preflight is a Secret, whose items have paths.
func TestThePathOfAFileOfAPreflightIsNoSecret(t *testing.T) {
	const line = "could not read /etc/kubernetes/static-pod-resources/secrets/cloud-config/cloud.conf"
	redactor := NewRedactor([]*corev1.Secret{{
		ObjectMeta: metav1.ObjectMeta{Name: operand.PreflightName},
		Data: map[string][]byte{operand.PreflightPodKey: []byte(
			"spec: {volumes: [{secret: {items: [{key: a, path: secrets/cloud-config/cloud.conf}]}}]}")},
	}})
	require.Equal(t, line, redactor.Line(line))
}

// A rejected input is named by its object, which the records have under "credentials".
func TestTheObjectOfAnAcceptedInputIsNoSecret(t *testing.T) {
	const line = "secret/openstack-cloud-credentials: the version accepted at 2026-11-25T21:44:30Z stays in use"
	redactor := NewRedactor([]*corev1.Secret{{
		ObjectMeta: metav1.ObjectMeta{Name: operand.AcceptedInputsSecret},
		Data: map[string][]byte{operand.AcceptedRecordsKey: []byte(
			`{"credentials":{"source":"secret/openstack-cloud-credentials","acceptedAt":"2026-11-25T21:44:30Z"}}`)},
	}})
	require.Equal(t, line, redactor.Line(line))
}

// A kubelet can write messages of any length.
func TestAMessageIsCutAfterItWasMasked(t *testing.T) {
	masked := podsWith(t, strings.Repeat("9", maxMessage/2-4)+" "+password+" "+strings.Repeat("9", 1<<20))
	pod, err := masked.Core().V1().Pods().Lister().Pods(operand.Namespace).Get("ccm")
	require.NoError(t, err)
	require.Len(t, []rune(pod.Status.Message), maxMessage)
	require.NotContains(t, pod.Status.Message, password[:4])
}
