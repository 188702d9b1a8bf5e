package offline

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// paths are the paths in a pod. Their values do not matter here.
var paths = clouds.Paths{Config: "/config", Credentials: "/credentials", Tokens: "/tokens",
	CABundle: "/ca/ca-bundle.pem", Kubeconfig: "/kubeconfig"}

// reasons returns the diagnostics that explain a difference between the given and the delivered configuration.
func reasons(r clouds.Result) []string {
	var found []string
	for _, f := range r.Diagnostics {
		if f.Kind.IsChange() && f.Cause == diagnostic.CloudConfig && f.Key == "" {
			found = append(found, f.String())
		}
	}
	return found
}

// TestEveryChangeHasAReasonAndEveryReasonAChange uses the examples of the platforms' tests.
func TestEveryChangeHasAReasonAndEveryReasonAChange(t *testing.T) {
	converted := 0
	for _, p := range platform.All() {
		configs, err := filepath.Glob(filepath.Join("..", "clouds", "*", "testdata", p.Name, "*.conf"))
		require.NoError(t, err)
		for _, config := range configs {
			for _, unknown := range []bool{true, false} {
				source := sourceOf(t, config)
				source.CredentialsUnknown = unknown
				result := p.Rewrite(source)
				if len(result.Errors(diagnostic.Strict)) > 0 {
					continue
				}
				converted++
				why := reasons(result)
				switch {
				case bytes.Equal(source.Config, result.Config):
					assert.Empty(t, why, config)
				case len(why) == 0:
					assert.True(t, isReformatted(source.Config, result.Config), "%s has no reason for its changes:\n%s",
						config, result.Config)
				}
			}
		}
	}
	require.Greater(t, converted, 50)
}

// sourceOf reads an example with its other files.
func sourceOf(t *testing.T, config string) clouds.Source {
	t.Helper()
	beside := strings.TrimSuffix(config, ".conf")
	source := clouds.Source{Config: mustRead(t, config), Paths: paths}
	if data := mustRead(t, beside+".cluster.yaml"); data != nil {
		require.NoError(t, yaml.Unmarshal(data, &source.Cluster), beside)
	}
	var secret map[string]string
	if data := mustRead(t, beside+".secret.yaml"); data != nil && yaml.Unmarshal(data, &secret) == nil {
		source.Credentials = map[string][]byte{}
		for key, value := range secret {
			source.Credentials[key] = []byte(value)
		}
	}
	return source
}

// mustRead returns nil if the file does not exist.
func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return data
}

// isReformatted reports whether single lines, or the whole configuration, differ only in formatting.
func isReformatted(before, after []byte) bool {
	const comments, meaningless = "#;", "\ufeff \t\r\"'"
	bare := func(line string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(meaningless, r) {
				return -1
			}
			return unicode.ToLower(r)
		}, line)
	}
	kept, keptBare := map[string]bool{}, map[string]bool{}
	for line := range strings.SplitSeq(string(after), "\n") {
		kept[line], keptBare[bare(line)] = true, true
	}
	for line := range strings.SplitSeq(string(before), "\n") {
		text := bare(line)
		comment := strings.IndexAny(text, comments)
		hasNoValue := strings.HasSuffix(strings.TrimRight(text, ","), ":null")
		if !kept[line] && (hasNoValue || keptBare[text] || comment == 0 || comment > 0 && keptBare[text[:comment]]) {
			return true
		}
	}
	return !bytes.Equal(before, after) && slices.Equal(words(before), words(after))
}

func words(text []byte) []string {
	found := strings.FieldsFunc(strings.ToLower(string(text)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./@%+-", r)
	})
	found = slices.DeleteFunc(found, func(word string) bool { return strings.Trim(word, "-") == "" })
	slices.Sort(found)
	return found
}

func TestFieldPath(t *testing.T) {
	for field, want := range map[string][]string{
		"":                                 nil,
		".spec.custom.image":               {"spec", "custom", "image"},
		"spec.custom.args[2]":              {"spec", "custom", "args", "2"},
		"spec.custom.secrets[a.b].deliver": {"spec", "custom", "secrets", "a.b", "deliver"},
		"status.":                          {"status"},
		"a[b":                              {"a", "b"},
	} {
		require.Equal(t, want, fieldPath(field), field)
	}
}
