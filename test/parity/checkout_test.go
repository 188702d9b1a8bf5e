package parity_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/parity"
)

// tiny is a made-up checkout with one platform.
var tiny = map[string]string{
	"manifests/01_images.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: images, namespace: o}
data:
  images.json: '{"aws": "registry.example.com/origin-aws-ccm"}'
`,
	"manifests/02_rbac.yaml": `
kind: ClusterRole
metadata: {name: ccm}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [list, get]}
---
kind: ClusterRoleBinding
metadata: {name: ccm}
roleRef: {kind: ClusterRole, name: ccm}
subjects:
- {kind: ServiceAccount, namespace: openshift-cloud-controller-manager, name: cloud-controller-manager}
---
kind: RoleBinding
metadata: {name: operator, namespace: t}
roleRef: {kind: ClusterRole, name: admin}
subjects:
- {kind: ServiceAccount, namespace: openshift-cloud-controller-manager-operator, name: cluster-cloud-controller-manager}
`,
	"manifests/03_credentialsrequest-aws.yaml": `
kind: CredentialsRequest
metadata: {name: aws, namespace: c}
spec:
  providerSpec:
    statementEntries:
    - {action: ["ec2:Describe"]}
`,
	"pkg/config/config.go": "package config\n\ntype Images struct {\n\tAWS string `json:\"aws\"`\n}\n",
	"pkg/cloud/aws/aws.go": `package aws

var templates = []source{{EmbedFsPath: "assets/deployment.yaml"}}

var images = used{
	Manager: config.ImagesReference.AWS,
}
`,
	"pkg/cloud/aws/assets/deployment.yaml": `
kind: Deployment
metadata: {name: aws-ccm, namespace: t}
spec:
  replicas: 2
  strategy: {type: Recreate}
  template:
    spec:
      priorityClassName: high
      containers:
      - name: cloud-controller-manager
        image: {{ .images.Manager }}
        command:
        - /bin/bash
        - -c
        - |
          if [[ -f /etc/api.env ]]; then
            source /etc/api.env
          fi
          exec /bin/ccm \
          --cloud-config=$(CONFIG) \
          --node="$(NODE)" \
          --quick \
          {{- if .tlsMinVersion }}
          --tls-min-version={{ .tlsMinVersion }} \
          {{- end }}
          -v=2
        env:
        - {name: CONFIG, value: /etc/cloud.conf}
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        livenessProbe:
          httpGet: {path: /healthz, port: 10258, scheme: HTTPS}
          initialDelaySeconds: 300
        resources:
          requests: {cpu: 200m}
        volumeMounts:
        - {name: config, mountPath: /etc, readOnly: true}
      volumes:
      - name: config
        configMap: {name: cloud-conf, items: [{key: cloud.conf, path: cloud.conf}, {key: a, path: b}]}
      - name: idle
        secret: {secretName: unused}
`,
	// An asset that no template names is not applied.
	"pkg/cloud/aws/assets/unused.yaml": "kind: ConfigMap\nmetadata: {name: unused}\n",
	"pkg/cloud/common/resources.go": `package common

var budget = object{Kind: "PodDisruptionBudget", Name: fmt.Sprintf("%s-ccm", platform)}
`,
	"pkg/cloud/common/substitution.go": "package common\n\nvar variables = []string{\"HTTPS_PROXY\"}\n",
	"pkg/controllers/common_consts.go": `package controllers

const (
	syncedCloudConfigMapName = "cloud-conf"
)
`,
	"pkg/controllers/trusted_ca_bundle_controller.go": "package controllers\n\nconst trustedCAConfigMapName = \"trust\"\n",
}

// write writes the tiny checkout with changes; an empty file is removed.
func write(t *testing.T, changes map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files := maps.Clone(tiny)
	maps.Copy(files, changes)
	for name, content := range files {
		if content == "" {
			continue
		}
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	}
	return dir
}

func TestFactsAreReadFromACheckout(t *testing.T) {
	facts, err := parity.ReadCheckout(write(t, nil))
	require.NoError(t, err)
	require.Equal(t, parity.Facts{
		"aws": {
			"flag": {
				"cloud-config": "/etc/cloud.conf", "node": "$(NODE)", "quick": "true", "tls-min-version": "VersionTLS12", "v": "2",
			},
			"environment": {
				"CONFIG": "/etc/cloud.conf", "NODE": "field spec.nodeName", "variables in /etc/api.env": "if the file exists",
				"HTTP_PROXY, HTTPS_PROXY, NO_PROXY": "those that Proxy/cluster sets",
			},
			"mount":     {"/etc": "ConfigMap/cloud-conf (cloud.conf, a as b)", "volume idle, not mounted": "Secret/unused"},
			"probe":     {"liveness": "https://<pod IP>:10258/healthz from 300 s, every 10 s, timeout 1 s, 3 failures"},
			"resources": {"cpu request": "200m"},
			"pod": {
				"workload": "Deployment, 2 replicas, Recreate", "host network": "false", "DNS policy": "ClusterFirst",
				"priority class": "high", "grace period": "30 s", "program": "/bin/ccm", "image": "aws-ccm",
			},
			"right":      {"nodes": "get, list", "identities": "openshift-cloud-controller-manager:cloud-controller-manager"},
			"permission": {"ec2:Describe": "yes"},
			"object": {
				"Deployment/aws-ccm in t": "yes",
				"PodDisruptionBudget/aws-ccm in openshift-cloud-controller-manager": "yes",
				"ConfigMap/cloud-conf in openshift-cloud-controller-manager":        "yes",
				"ConfigMap/trust in openshift-cloud-controller-manager":             "yes",
			},
		},
		"payload": {
			"object": {
				"ConfigMap/images in o": "yes", "ClusterRole/ccm": "yes", "ClusterRoleBinding/ccm": "yes",
				"RoleBinding/operator in t": "yes", "CredentialsRequest/aws in c": "yes",
			},
			"right of the operator": {
				"ClusterRole/admin in t": "bound",
				"identities":             "openshift-cloud-controller-manager-operator:cluster-cloud-controller-manager",
			},
		},
	}, facts)
}

// A checkout of another shape has to stop the tool: facts that are silently missing would pass for differences.
func TestACheckoutThatCannotBeReadCompletelyIsAnError(t *testing.T) {
	const deployment = "pkg/cloud/aws/assets/deployment.yaml"
	withContainer := func(container string) map[string]string {
		return map[string]string{
			deployment: "kind: Deployment\nspec: {replicas: 1, template: {spec: {containers: [{" + container + "}]}}}\n",
		}
	}
	for name, tc := range map[string]struct {
		changes map[string]string
		want    string
	}{
		"a new platform": {
			map[string]string{"pkg/cloud/tropos/assets/deployment.yaml": "kind: Deployment\n"},
			"pkg/cloud/tropos is a platform without an entry in predecessors",
		},
		"a request for a new platform": {
			map[string]string{"manifests/04_credentialsrequest-tropos.yaml": "kind: CredentialsRequest\n"},
			"04_credentialsrequest-tropos.yaml is of a platform without an entry in predecessors",
		},
		"a new value of the templates": {
			map[string]string{deployment: "kind: {{ .novelty }}\n"},
			`map has no entry for key "novelty"`,
		},
		"a script that starts nothing": {
			withContainer("name: cloud-controller-manager, command: [bash, -c, sleep]"),
			"the script of container cloud-controller-manager executes nothing",
		},
		"another container": {
			withContainer("name: ccm, command: [ccm]"),
			"Deployment, 1 replicas,  has no container cloud-controller-manager",
		},
		"an argument that is no flag": {
			withContainer("name: cloud-controller-manager, command: [ccm, run]"),
			`argument "run" is not a flag`,
		},
		"a renamed constant": {
			map[string]string{"pkg/controllers/common_consts.go": "package controllers\n"},
			"pkg/controllers/common_consts.go has no constant syncedCloudConfigMapName",
		},
		"no source of a platform": {map[string]string{"pkg/cloud/aws/aws.go": ""}, "platform aws: reading the templates: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parity.ReadCheckout(write(t, tc.changes))
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := parity.ReadCheckout(t.TempDir())
	require.EqualError(t, err, "there are no manifests")
}
