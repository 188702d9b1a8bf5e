package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

// canary must not appear in any output.
const canary = "c4n4ry"

func TestNoSpellingOfASecretIsPrinted(t *testing.T) {
	inINI := map[string]string{
		"plain":                      "password = c4n4ry",
		"in quotes":                  `password = "c4n4ry ; c4n4ry"`,
		"behind a bracket":           "password = [c4n4ry",
		"behind a brace":             "password = {c4n4ry",
		"behind a greater sign":      "password = >c4n4ry",
		"behind a bar":               "password = |c4n4ry",
		"on a line that goes on":     "password = a\\\n  c4n4ry",
		"on a line that is indented": "password = a\n  c4n4ry",
		"with an escape":             `password = "a\tc4n4ry"`,
		"in a comment":               "# c4n4ry\n; password = c4n4ry\nregion = b # c4n4ry",
	}
	inYAML := map[string]string{
		"plain":                "password: c4n4ry",
		"plain on two lines":   "password: a\n  c4n4ry",
		"in quotes":            "password: 'it''s c4n4ry'",
		"on two quoted lines":  "password: \"a\\\n  c4n4ry\"",
		"in a literal block":   "password: |\n  a\n\n  c4n4ry",
		"in a folded block":    "password: >-\n  a\n  c4n4ry",
		"under an escaped key": `"pass\x77ord": c4n4ry`,
		"in a list":            "password: [c4n4ry, {a: c4n4ry}]",
		"behind an anchor":     "x: &x c4n4ry\npassword: *x",
		"in a comment":         "# password: |\n#   c4n4ry\nx: b # c4n4ry",
	}
	inJSON := map[string]string{
		"plain":                 `"aadClientSecret": "c4n4ry"`,
		"behind a bracket":      `"aadClientSecret": "[c4n4ry"`,
		"under an escaped key":  `"aadClient\u0053ecret": "c4n4ry"`,
		"behind a line's end":   "\"aadClientSecret\":\n    \"a\\\"c4n4ry\"",
		"under an unknown name": `"myToken": ["c4n4ry", {"a": "c4n4ry"}]`,
	}
	const vSphere = "global:\n  insecureFlag: true\nvcenter:\n  a:\n    server: vcenter1.example.com\n    " +
		"datacenters: [dc1]\n"
	for name, test := range map[string]struct {
		platform string
		// base is the configuration, by default the platform's valid example.
		base      string
		spellings map[string]string
		insert    func(text, spelling string) string
	}{
		"openstack": {"openstack", "", inINI, intoSection}, "vsphere": {"vsphere", "", inINI, intoSection},
		"ibmcloud": {"ibmcloud", "", inINI, intoSection}, "powervs": {"powervs", "", inINI, intoSection},
		"gcp": {"gcp", "", inINI, intoSection}, "aws": {"aws", "", inINI, intoSection},
		"vsphere in YAML": {"vsphere", vSphere, inYAML, intoGlobal}, "alibabacloud": {"alibabacloud", "", inYAML, atTheEnd},
		"azure": {"azure", "", inJSON, intoBraces}, "azurestack": {"azurestack", "", inJSON, intoBraces},
		"nutanix": {"nutanix", "", inJSON, intoBraces},
		"external": {
			"external", "[a]\nb = c\n", inINI, intoSection}, "external in YAML": {"external", "a: b\n", inYAML, atTheEnd},
		"external in JSON":              {"external", "{\"a\": \"b\"}\n", inJSON, intoBraces},
		"external in an unknown format": {"external", "a => b\n", inINI, atTheEnd},
	} {
		t.Run(name, func(t *testing.T) {
			printed := 0
			for spelling, text := range test.spellings {
				request := planted(t, test.platform, func(good string) string { return test.insert(cmp.Or(test.base, good), text) })
				for _, diff := range []bool{false, true} {
					var out bytes.Buffer
					code, err := run(&out, &out, request, diff)
					require.NoError(t, err)
					require.NotContains(t, out.String(), canary, spelling)
					if code == 0 {
						printed++
					}
				}
			}
			require.GreaterOrEqual(
				t,
				printed,
				len(test.spellings),
				"most of the spellings have to be accepted, or nothing is tried",
			)
		})
	}
}

// intoSection inserts lines after the first section's header.
func intoSection(text, spelling string) string {
	header, rest, _ := strings.Cut(text, "\n")
	return header + "\n" + spelling + "\n" + rest
}

func atTheEnd(text, spelling string) string { return text + spelling + "\n" }

// intoBraces inserts members after the first brace. It removes the installer's empty secret, which would make the key
// ambiguous.
func intoBraces(text, spelling string) string {
	text = strings.Replace(text, `"aadClientSecret": "",`, "", 1)
	return strings.Replace(text, "{", "{"+spelling+",", 1)
}

// intoGlobal inserts lines after the first line of a mapping.
func intoGlobal(text, spelling string) string {
	return intoSection(text, "  "+strings.ReplaceAll(spelling, "\n", "\n  "))
}

// planted returns a copy of a platform's valid example with a configuration that plant changes.
func planted(t *testing.T, platformName string, plant func(string) string) offline.Request {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "validate", "testdata", platformName))))
	file := filepath.Join(dir, "good.yaml")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	configMap := &corev1.ConfigMap{}
	require.NoError(t, yaml.Unmarshal(data, configMap))
	configMap.Data["config"] = plant(configMap.Data["config"])
	data, err = yaml.Marshal(
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": configMap.ObjectMeta, "data": configMap.Data},
	)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, data, 0o600))
	request := offline.Request{Infrastructure: filepath.Join(dir, "infrastructure.yaml"), CloudConfig: file}
	if _, err := os.Stat(filepath.Join(dir, "good")); err == nil {
		request.Manifests = []string{filepath.Join(dir, "good")}
	}
	return request
}

// Time that grows with the square of the number of sections or secrets would let this test run for minutes.
func TestAConfigurationOfTheLargestSizeIsShown(t *testing.T) {
	var before strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&before, "[LoadBalancerClass \"c%d\"]\npassword =  secret-number-%d\n", i, i)
	}
	redacted := redaction.New(nil, nil, []byte(before.String())).File([]byte(before.String()))
	require.NotContains(t, redacted, "secret-number")
	var out bytes.Buffer
	file{before: redacted, after: strings.ReplaceAll(redacted, "=  ", "= ")}.writeDiff(&out)
	require.Equal(t, 20_000, strings.Count(out.String(), "\n-password =  <password>\n+password = <password>\n"))
}
