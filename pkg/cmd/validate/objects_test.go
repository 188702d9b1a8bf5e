package validate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An administrator takes an object for another one: the message names it with its place.
func TestAnObjectThatIsAlmostTheOneThatTheClusterReads(t *testing.T) {
	const (
		missing = "infra.yaml:7:5: error: configmap/cloud-provider-config in openshift-config, key config: it does not exist; " +
			"create it, or correct spec.cloudConfig of infra.yaml: infrastructure.config.openshift.io/cluster"
		unchecked = "neither secret/openstack-cloud-credentials in openshift-cloud-controller-manager nor " +
			"secret/openstack-credentials in kube-system is among the manifests: credentials are not checked"
	)
	config := configMap + "  config: |\n    [Global]\n"
	credentials := secret + "stringData:\n  clouds.yaml: |\n    " + strings.ReplaceAll(clouds, "\n", "\n    ")
	for name, test := range map[string]struct{ file, from, to, message string }{
		"a ConfigMap in another namespace": {"cloud.yaml", "openshift-config", "kube-system",
			missing + "; did you mean configmap/cloud-provider-config in kube-system at cloud.yaml:5:3? [CCM0011]"},
		"a ConfigMap without a namespace": {"cloud.yaml", "  namespace: openshift-config\n", "",
			missing + "; did you mean configmap/cloud-provider-config at cloud.yaml:3:1? [CCM0011]"},
		"a ConfigMap of another name": {"cloud.yaml", "cloud-provider-config", "cloud-conf",
			missing + "; did you mean configmap/cloud-conf in openshift-config at cloud.yaml:4:3? [CCM0011]"},
		"a Secret instead of the ConfigMap": {"cloud.yaml", "kind: ConfigMap", "kind: Secret",
			missing + "; did you mean secret/cloud-provider-config in openshift-config at cloud.yaml:2:1? [CCM0011]"},
		"a ConfigMap of something else": {"cloud.yaml", "  name: cloud-provider-config\n  namespace: openshift-config\ndata:\n  config",
			"  name: other\n  namespace: openshift-config\ndata:\n  other", missing + " [CCM0011]"},
		"a kind in lower case": {"cloud.yaml", "kind: ConfigMap", "kind: configmap",
			`validate: cloud.yaml:2:1: unknown kind "configmap"; did you mean "ConfigMap"?`},
		"a version that the API does not have": {"cloud.yaml", "apiVersion: v1", "apiVersion: v1beta1",
			"validate: cloud.yaml:1:1: there is no ConfigMap of the version v1beta1: write apiVersion: v1"},
		"an Infrastructure without its group": {"infra.yaml", "config.openshift.io/v1", "v1",
			"validate: infra.yaml:1:1: there is no Infrastructure of the version v1: write apiVersion: config.openshift.io/v1"},
		"an operator's resource of another name": {"cloud.yaml", "apiVersion: v1\n",
			"apiVersion: operator.openshift.io/v1\nkind: CloudControllerManager\nmetadata:\n  name: ccm\n---\napiVersion: v1\n",
			"validate: cloud.yaml:4:3: there is one CloudControllerManager only: write name: cluster"},
		"a ConfigMap's field in another case": {"cloud.yaml", "\ndata:", "\nData:",
			`validate: cloud.yaml:6:1: unknown field "Data"; did you mean "data"?`},
		"a Secret's field in another case": {"secret.yaml", "stringData:", "stringdata:",
			`validate: secret.yaml:6:1: unknown field "stringdata"; did you mean "stringData"?`},
		"credentials in another namespace": {"secret.yaml", "kube-system", "openshift-config",
			"secret.yaml:5:3: warning: secret/openstack-credentials in openshift-config is not used: the " +
				"cloud-controller-manager's is in kube-system; correct the namespace [CCM0006]"},
		"credentials without a namespace": {"secret.yaml", "  namespace: kube-system\n", "",
			"secret.yaml:3:1: warning: secret/openstack-credentials is not used: the cloud-controller-manager's is in " +
				"kube-system; correct the namespace [CCM0006]"},
		"credentials beside the operator": {"secret.yaml", "  name: openstack-credentials\n  namespace: kube-system",
			"  name: openstack-cloud-credentials\n  namespace: openshift-cloud-controller-manager-operator",
			"secret.yaml:5:3: warning: secret/openstack-cloud-credentials in openshift-cloud-controller-manager-operator is " +
				"not used: the cloud-controller-manager's is in openshift-cloud-controller-manager; correct the namespace " +
				"[CCM0006]"},
		"credentials of another component, which have the same name": {"secret.yaml",
			"  name: openstack-credentials\n  namespace: kube-system",
			"  name: openstack-cloud-credentials\n  namespace: openshift-machine-api", unchecked},
		"credentials in a ConfigMap": {"secret.yaml", "kind: Secret", "kind: ConfigMap",
			unchecked + "; did you mean configmap/openstack-credentials in kube-system at secret.yaml:2:1?"},
		"documents that are null": {"cloud.yaml", "apiVersion: v1\n", "null\n---\napiVersion: v1\n",
			"0 errors, 0 warnings in infra.yaml and cloud.yaml and secret.yaml, checked for platform openstack"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			for file, text := range map[string]string{
				"infra.yaml": infrastructure("OpenStack"), "cloud.yaml": config, "secret.yaml": credentials,
			} {
				if file == test.file {
					require.Contains(t, text, test.from)
					text = strings.Replace(text, test.from, test.to, 1)
				}
				f.write(file, text)
			}
			got := f.command("infra.yaml", "cloud.yaml", "secret.yaml")
			require.Contains(t, got.stdout+got.stderr, test.message+"\n")
		})
	}
}
