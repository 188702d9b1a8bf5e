package validate_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// evil makes a terminal hide, overwrite or reorder text.
const evil = "e\x1b[2J\u009b\u202e\rvil"

// requirePrintable fails on characters that control a terminal.
func requirePrintable(t *testing.T, output string) {
	t.Helper()
	for _, r := range output {
		require.False(t, r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)), "%q", output)
	}
}

func TestNamesWithControlCharactersDoNotReachTheTerminalRaw(t *testing.T) {
	const escaped = `"e\u001b[2J\u009b\u202e\rvil"`
	for name, test := range map[string]struct {
		file, data string
		code       int
		want       string
	}{
		"of a file that is missing":     {"", "", 2, `\x1b[2J\u009b\u202e\rvil.yaml cannot be read`},
		"of a file with a diagnostic":   {evil, configMap + "  config: |\n    [Globl]\n", 1, `\x1b[2J\u009b\u202e\rvil.yaml:8:5: error`},
		"of an object":                  {"a", configMap + "  a: b\n---\n" + strings.Replace(configMap, "cloud-provider-config", escaped, 1), 2, `\x1b[2J\u009b\u202e\rvil in openshift-config`},
		"of a key":                      {"a", configMap + "  " + escaped + ": a\n", 1, `the object has e\x1b[2J\u009b\u202e\rvil`},
		"of a key whose value is wrong": {"a", configMap + "  " + escaped + ": [a]\n", 2, `data.e\x1b[2J\u009b\u202e\rvil in`},
		"of a kind":                     {"a", strings.Replace(configMap, "ConfigMap", escaped, 1) + "  a: b\n", 2, `\x1b[2j\u009b\u202e\rvil/cloud`},
		"of a value of the cloud":       {"a", configMap + "  config: \"[Global]\\nregion = \\\"a\\\"\\n[LoadBalancer]\\nenabled = \\e[2J\\u009b\\u202ex\\n\"\n", 1, "enabled is"},
		"of a section of the cloud":     {"a", configMap + "  config: \"[Global]\\n[LoadBalancerClass \\\"\\e[2J\\u009b\\u202ex\\\"]\\n[Foo \\\"\\e[2J\\u009b\\u202e\\\"]\\nregoin\\u202e = a\\n\"\n", 1, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			file := test.file + ".yaml"
			if test.file == "" {
				file = evil + ".yaml"
			} else {
				f.write(file, test.data)
			}
			for _, format := range []string{"text", "json"} {
				got := f.command("--infra-config-file=infra.yaml", "--cloud-config-file="+file, "-o", format)
				require.Equal(t, test.code, got.code, got.stdout+got.stderr)
				requirePrintable(t, got.stdout+got.stderr)
				if format == "text" {
					require.Contains(t, got.stdout+got.stderr, test.want)
				}
			}
		})
	}
}
