package logging_test

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/logging"
)

// logged returns the log at verbosity 8 without klog's header.
func logged(t *testing.T, log func()) string {
	t.Helper()
	state := klog.CaptureState()
	defer state.Restore()
	flags := flag.NewFlagSet("", flag.PanicOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"v": "8", "logtostderr": "false", "stderrthreshold": "FATAL", "one_output": "true",
	} {
		require.NoError(t, flags.Set(name, value))
	}
	var output bytes.Buffer
	klog.SetOutput(&output)
	logging.Install()
	log()
	klog.Flush()
	_, text, _ := strings.Cut(output.String(), "] ")
	return strings.TrimSpace(text)
}

func TestContentIsNotLogged(t *testing.T) {
	for name, tc := range map[string]struct {
		log  func()
		want string
	}{
		"the difference of a ConfigMap": {
			func() {
				klog.Infof("ConfigMap %q changes: %v", "ns/raw-cloud-config", `{"data":{"config":"password=canary"}}`)
			},
			`ConfigMap "ns/raw-cloud-config" changes: (content is not logged)`,
		},
		"the difference of a revision": {
			func() {
				klog.Infof("configmap %q changes for revision %d: %s", "pod", 3, `{"data":{"pod.yaml":"canary"}}`)
			},
			`configmap "pod" changes for revision 3: (content is not logged)`,
		},
		"the pod that is installed": {
			func() {
				klog.Infof("Writing static pod manifest %q ...\n%s", "/etc/kubernetes/manifests/pod.yaml", []byte(`{"kind":"Pod"}`))
			},
			"Writing static pod manifest \"/etc/kubernetes/manifests/pod.yaml\" ...\n(content is not logged)",
		},
		"the body of a request": {
			func() { klog.Background().V(8).Info("Request Body", "body", "canary") },
			`"Request Body" body="(content is not logged)"`,
		},
		"the password of a proxy": {
			func() { klog.InfoS("observed", "proxy", "http://user:canary@proxy.example.com:3128") },
			`"observed" proxy="http://<redacted>@proxy.example.com:3128"`,
		},
		"the password of a proxy in an error": {
			func() { klog.Errorf("syncing: %v", errors.New(`parse "https://user:canary@proxy": bad`)) },
			`syncing: parse "https://<redacted>@proxy": bad`,
		},
		"the password of a proxy in a plain line": {
			func() { klog.Info("proxies: ", "http://a:canary@b,https://c:canary@d") },
			"proxies: http://<redacted>@d",
		},
		"the password of a proxy without a scheme": {
			func() { klog.InfoS("observed", "proxy", "user:canary@proxy.example.com:3128") },
			`"observed" proxy="<redacted>@proxy.example.com:3128"`,
		},
		"a token in an error": {
			func() { klog.Errorf("syncing: %v", errors.New("401: Authorization: Bearer canarycanary")) },
			`syncing: 401: Authorization: Bearer <redacted>`,
		},
		"a password with a slash": {
			func() { klog.InfoS("observed", "proxy", "http://user:can/ary@proxy.example.com:3128") },
			`"observed" proxy="http://<redacted>@proxy.example.com:3128"`,
		},
		"the digest of an image": {
			func() { klog.InfoS("observed", "image", "quay.io/a:b@sha256:12") },
			`"observed" image="quay.io/a:b@sha256:12"`,
		},
		"what is no content": {
			func() {
				klog.Infof("node %q at revision %d: %v", "master-0", 3, errors.New("mail a@b, see https://example.com"))
			},
			`node "master-0" at revision 3: mail a@b, see https://example.com`,
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, logged(t, tc.log)) })
	}
}

func TestTheCallersArgumentsStay(t *testing.T) {
	args := []any{"name", "http://user:secret@proxy"}
	logged(t, func() { klog.Infof("%s changes: %v", args...) })
	require.Equal(t, []any{"name", "http://user:secret@proxy"}, args)
}
