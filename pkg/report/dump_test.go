package report_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// canary must not appear in any file.
const canary = "c4n4ry-s3cret-value"

// plant puts the canary wherever a cluster may have a secret, or something that quotes one.
func plant(w *world) {
	waits("login with " + canary + " failed")(w)
	warned(w, "cannot log in with "+canary)
	for _, secret := range w.Secrets {
		for key := range secret.Data {
			if secret.Name != "accepted-inputs" && secret.Name != "serving-cert" {
				secret.Data[key] = []byte("password: " + canary)
			}
		}
		secret.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": canary}
	}
	w.Secrets["serving-cert"].Data["tls.key"] = []byte(canary)
	w.Resource.Spec.UnsupportedConfigOverrides.Raw = []byte(`{"extendedArguments":{"a":["` + canary + `"]}}`)
	w.Resource.Spec.ObservedConfig.Raw = []byte(strings.Replace(string(w.Resource.Spec.ObservedConfig.Raw), "user:pass", "user:"+canary, 1))
	for _, pod := range w.plane.Pods {
		pod.Spec.Containers = []corev1.Container{{Args: []string{canary}, Env: []corev1.EnvVar{{Name: "A", Value: canary}}}}
		pod.Annotations["kubernetes.io/config.source"] = canary
		pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Message: "E1121 fatal: " + canary}
	}
	for _, node := range w.Workers {
		node.Annotations = map[string]string{"example.com/a": canary}
	}
	w.More = append(w.More, &corev1.ConfigMap{Data: map[string]string{"a": canary}})
}

func dumped(t *testing.T, w *world) (dir string) {
	t.Helper()
	shot := read(t, w.cluster(), snapshot.Everything()...)
	dir = filepath.Join(t.TempDir(), "dump")
	_, err := shot.Write(dir, "v1")
	require.NoError(t, err)
	return dir
}

func TestADumpHasNoSecret(t *testing.T) {
	for name, forbidden := range map[string][]string{"with the Secrets": nil, "without them": {"secrets"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			plant(w)
			w.Forbidden = forbidden
			dir, files := dumped(t, w), 0
			require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				files++
				info, err := entry.Info()
				require.NoError(t, err)
				require.Equal(t, fs.FileMode(0o600), info.Mode())
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NotContains(t, string(data), canary, path)
				return nil
			}))
			require.Greater(t, files, 15)
		})
	}
}

// unknownSecrets are texts with secrets that no Secret of the operand has: of a proxy, of a session, of another component.
func unknownSecrets() []string {
	const c = "c4n4ryUnknown0123456789abcdef"
	return []string{
		"proxyconnect tcp: dial http://user:" + c + "@proxy.example.com:3128: refused",
		`Get "https://token:` + c + `@nova.example.com/": EOF`,
		"X-Auth-Token: " + c, "X-Subject-Token:[" + c + "]", `"X-Auth-Token":"` + c + `"`, `{\"X-Auth-Token\": \"` + c + `\"}`,
		"headers map[Accept:[*/*] X-Auth-Token:[" + c + "]]",
		"Authorization: Bearer " + c, "Authorization: Basic " + c, "Authorization:[Bearer " + c + "]", "bearer " + c,
		"Proxy-Authorization: Basic " + c,
		"https://ec2.example.com/?X-Amz-Security-Token=" + c + "&X-Amz-Date=1", "X-Amz-Security-Token: " + c, "X-Amz-Signature=" + c,
		"https://account.blob.example.com/a?sv=1&sig=" + c,
		"password=" + c, "password = '" + c + "'", `password: "` + c + `"`, "passwd=" + c, "pwd=" + c, `"adminPass": {"password":"` + c + `"}`,
		"{AccessKeyID:AKIA1 SecretAccessKey:" + c + " SessionToken:" + c + "}", "client_secret=" + c, "ClientSecret:" + c,
		"apikey=" + c, `"api_key":"` + c + `"`, "refresh_token=" + c, "Cookie: vmware_soap_session=" + c, "vmware-api-session-id: " + c,
		"token eyJhbGciOiJSUzI1NiJ9." + c + ".c4n4ryUnknown", "the token gAAAAABn" + c + " has expired", "ya29." + c + " is invalid",
		"-----BEGIN RSA PRIVATE KEY-----\n" + c + "\n-----END RSA PRIVATE KEY-----",
	}
}

func TestADumpHasNoSecretOfUnknownOrigin(t *testing.T) {
	places := map[string]func(w *world, text string){
		"the leader's log": func(w *world, text string) {
			w.Logs["cloud-controller-manager-master-0"] = "E1121 09:00:10.123456       1 a.go:1] " + text + "\n"
		},
		"an Event":           warned,
		"a Node's condition": func(w *world, text string) { w.worker("worker-1").Status.Conditions[0].Message = text },
		"a condition":        func(w *world, text string) { w.condition("CloudConfigDegraded", "True", "Refused", text) },
	}
	tried := 0
	for where, put := range places {
		for _, text := range unknownSecrets() {
			w := newWorld(t)
			put(w, text)
			tried++
			require.NoError(t, filepath.WalkDir(dumped(t, w), func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NotContains(t, string(data), "c4n4ryUnknown", "%s: %s", where, text)
				return nil
			}))
		}
	}
	require.GreaterOrEqual(t, tried, 66)

	w := newWorld(t)
	waits("instance not found")(w)
	const leader = "cloud-controller-manager-master-0"
	w.Logs[leader] = "I1121 09:00:09.000000       1 a.go:1] annotation -----BEGIN PRIVATE KEY-----\nMIIBc4n4ryUnknown0123456789abcdef\n" + w.Logs[leader]
	s, err := snapshot.ReadDirectory(dumped(t, w), nil)
	require.NoError(t, err)
	require.NotContains(t, s.Log.Text, "c4n4ryUnknown")
	e, err := report.ExplainNode(s, "worker-1")
	require.NoError(t, err)
	require.Contains(t, e.Cause, "the cloud does not know the machine", "a key that does not end hides no line")
}

func TestADumpAnswersLikeTheCluster(t *testing.T) {
	w := newWorld(t)
	waits("instance not found")(w)
	silentWorker(w)
	announced(w)
	warned(w, "Quota exceeded")
	live := read(t, w.cluster(), snapshot.Everything()...)
	stored, err := snapshot.ReadDirectory(dumped(t, w), nil)
	require.NoError(t, err)
	texts := func(s *snapshot.Snapshot) string {
		var out bytes.Buffer
		status, err := report.StatusOf(s)
		require.NoError(t, err)
		require.NoError(t, status.WriteText(&out, false))
		for _, explain := range []func() (*report.Explanation, error){
			func() (*report.Explanation, error) { return report.ExplainNode(s, "worker-1") },
			func() (*report.Explanation, error) { return report.ExplainDeletion(s, "worker-3") },
			func() (*report.Explanation, error) { return report.ExplainService(s, "shop", "frontend") },
			func() (*report.Explanation, error) { return report.ExplainRollout(s) },
		} {
			e, err := explain()
			require.NoError(t, err)
			require.NoError(t, e.WriteText(&out, false))
		}
		return out.String()
	}
	require.Equal(t, texts(live), texts(stored))
	require.Contains(t, texts(stored), "cause:  the cloud does not know the machine")
	require.Contains(t, texts(stored), "cause:  a quota of the cloud is exhausted")
}

func TestADirectoryThatHasFilesIsKept(t *testing.T) {
	shot := read(t, newWorld(t).cluster())
	dir := filepath.Join(t.TempDir(), "dump")
	_, err := shot.Write(dir, "v1")
	require.NoError(t, err)
	_, err = shot.Write(dir, "v1")
	require.EqualError(t, err, dir+" is not empty: name another directory")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cluster-scoped-resources", "core", "nodes", "master-0.yaml"), []byte("{a"), 0o600))
	_, err = snapshot.ReadDirectory(dir, nil)
	require.EqualError(t, err, "cluster-scoped-resources/core/nodes/master-0.yaml in "+dir+
		" is not an object in YAML: it was edited or cut, dump again")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.yaml"), []byte("objects: 1"), 0o600))
	_, err = snapshot.ReadDirectory(dir, nil)
	require.EqualError(t, err, "index.yaml in "+dir+" is not what dump writes: it was edited or cut, dump again")
	_, err = snapshot.ReadDirectory(t.TempDir(), nil)
	require.ErrorContains(t, err, "was neither written by dump nor by oc adm must-gather: ")
}
