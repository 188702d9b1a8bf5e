package integration_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// TestAPreviewIsWhatTheOperatorThenDoes asks validate --against-cluster about changes, makes one of them, and compares.
func TestAPreviewIsWhatTheOperatorThenDoes(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.plant(t, "first")
	c.startOperator(t)
	latest := c.awaitRevision(t, 1)
	c.awaitNothingDegraded(t)
	dir := t.TempDir()
	validate := c.previewer(t, dir, "")
	edited := func(name string, edit func(string) string) string {
		object := c.userCloudConfig(t)
		object.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		object.ManagedFields = nil
		object.Data["config"] = edit(object.Data["config"])
		data, err := yaml.Marshal(object)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		return name
	}
	same := edited("same.yaml", func(text string) string { return text })
	for _, args := range [][]string{nil, {same}} {
		code, out := validate(args...)
		require.Zero(t, code, out)
		require.Contains(t, out, "nothing changes: no file, and no node\n")
	}

	code, out := validate(edited("typo.yaml", func(text string) string { return strings.Replace(text, "region =", "regoin =", 1) }))
	require.Equal(t, 1, code, out)
	require.Regexp(t, `(?m)^typo\.yaml:\d+:\d+: error: .*unknown key "regoin" in \[Global\]; did you mean "region"\? \[CCM0003\]$`, out)
	require.Contains(t, out, "\nCloudConfig is rejected: until then, the version accepted at ")
	require.Contains(t, out, "nothing changes: no file, and no node\n")

	delay := func(text string) string { return text + "\n[LoadBalancer]\nmonitor-delay = 7s\n" }
	if strings.Contains(c.userCloudConfig(t).Data["config"], "[LoadBalancer]") {
		delay = func(text string) string {
			return strings.Replace(text, "[LoadBalancer]\n", "[LoadBalancer]\nmonitor-delay = 7s\n", 1)
		}
	}
	changed := edited("changed.yaml", delay)
	code, out = validate(changed)
	require.Zero(t, code, out)
	require.Contains(t, out, "secret/cloud-config, key cloud.conf is changed\n")
	require.Contains(t, out, "\n    +monitor-delay = 7s\n")
	require.Contains(t, out, "revision 2 would roll out")

	c.bindSupport(t, "support")
	code, asSupport := c.previewer(t, dir, "support")(changed)
	require.Zero(t, code, asSupport)
	remark, rest, found := strings.Cut(asSupport, "\n")
	require.True(t, found)
	require.Equal(t, "no right to list secrets in openshift-cloud-controller-manager: the cluster's credentials are not checked, "+
		"given ones are not compared with them, and the accepted inputs are not known", remark)
	require.Contains(t, rest, "\n    +monitor-delay = 7s\n")
	require.Contains(t, rest, "revision 2 would roll out")

	c.editConfigMap(t, configNamespace, c.userCloudConfig(t).Name, func(m *corev1.ConfigMap) {
		m.Data["config"] = delay(m.Data["config"])
	})
	require.Equal(t, latest+1, c.awaitRevision(t, latest+1))
	require.Contains(t, string(c.secret(t, "cloud-config-2").Data["cloud.conf"]), "monitor-delay = 7s")
	code, out = validate(changed)
	require.Zero(t, code, out)
	require.Contains(t, out, "nothing changes: no file, and no node\n")
}

// bindSupport binds the roles for support as docs/commands.md says.
func (c *cluster) bindSupport(t *testing.T, user string) {
	t.Helper()
	const role = "system:openshift:cloud-controller-manager:support"
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	reference := func(name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	}
	_, err := c.kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: reference(role), Subjects: subjects,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	for namespace, name := range map[string]string{
		targetNamespace: role + "-namespaces", operatorNamespace: role + "-namespaces",
		configNamespace: role + "-configuration", "openshift-config-managed": role + "-configuration",
	} {
		_, err := c.kube.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: reference(name), Subjects: subjects,
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

// previewer returns the command on the cluster, as the given user or, without one, as the administrator. It fails the
// test if a secret is printed.
func (c *cluster) previewer(t *testing.T, dir, user string) func(args ...string) (code int, out string) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig())
	require.NoError(t, err)
	for _, info := range config.AuthInfos {
		info.Impersonate = user
	}
	kubeconfig := filepath.Join(dir, "kubeconfig"+user)
	require.NoError(t, clientcmd.WriteToFile(*config, kubeconfig))
	return func(args ...string) (int, string) {
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"validate", "--against-cluster", "--kubeconfig=" + kubeconfig}, args...)...)
		cmd.Dir = dir
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) {
			require.NoError(t, err)
		}
		require.NotContains(t, out.String(), canary)
		return cmd.ProcessState.ExitCode(), out.String()
	}
}
