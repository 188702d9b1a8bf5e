package validate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/diagnostics"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
)

// sample is one configuration of a corpus. Its platform is the name of the corpus' file.
type sample struct {
	Name string `json:"name"`
	// Source is the public thread or document that has the configuration, or its mistake.
	Source string `json:"source,omitempty"`
	// Config is the cloud configuration. It is in the ConfigMap from line 8 on, indented by 4.
	Config string `json:"config,omitempty"`
	// File is the whole file with the ConfigMap, for a mistake around the configuration.
	File string `json:"file,omitempty"`
	// Manifests are the other objects, if any.
	Manifests string `json:"manifests,omitempty"`
	// Infrastructure replaces texts in the platform's Infrastructure.
	Infrastructure map[string]string `json:"infrastructure,omitempty"`
	// Missed is the reason why the mistake is not found.
	Missed string `json:"missed,omitempty"`
}

// corpus returns the samples of a directory by platform.
func corpus(t *testing.T, dir string) map[string][]sample {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
	require.NoError(t, err)
	samples := map[string][]sample{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var of []sample
		require.NoError(t, yaml.UnmarshalStrict(data, &of), file)
		samples[strings.TrimSuffix(filepath.Base(file), ".yaml")] = of
	}
	return samples
}

// validate makes the checks of the command on the sample and returns the lines that it prints.
func (s sample) validate(t *testing.T, platform string) (rejected bool, lines []string) {
	t.Helper()
	infrastructure, err := os.ReadFile(filepath.Join("testdata", platform, "infrastructure.yaml"))
	require.NoError(t, err)
	text := string(infrastructure)
	for from, to := range s.Infrastructure {
		require.Contains(t, text, from)
		text = strings.ReplaceAll(text, from, to)
	}
	f := workspace{t: t, dir: t.TempDir()}
	f.write("infra.yaml", text)
	f.write("cloud.yaml", s.File)
	if s.File == "" {
		f.write("cloud.yaml", configMap+"  config: |\n"+indent(s.Config))
	}
	request := offline.Request{Infrastructure: "infra.yaml", CloudConfig: "cloud.yaml"}
	if s.Manifests != "" {
		f.write("manifests.yaml", s.Manifests)
		request.Manifests = []string{"manifests.yaml"}
	}
	t.Chdir(f.dir)
	report, err := offline.Check(request)
	if err != nil {
		return true, []string{err.Error()}
	}
	var out strings.Builder
	require.NoError(t, diagnostics.Print(&out, report.Diagnostics, nil))
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return report.Count(diagnostic.Error) > 0, lines
}

// check compares the errors and warnings of all samples with the golden files, and passes those of each sample on.
func check(t *testing.T, dir string, one func(t *testing.T, s sample, rejected bool, lines string)) {
	t.Helper()
	for platform, samples := range corpus(t, dir) {
		var golden strings.Builder
		for _, s := range samples {
			t.Run(platform+"/"+s.Name, func(t *testing.T) {
				rejected, lines := s.validate(t, platform)
				golden.WriteString(s.Name + "\n")
				for _, line := range lines {
					golden.WriteString("  " + line + "\n")
				}
				one(t, s, rejected, strings.Join(lines, "\n"))
			})
		}
		requireGolden(t, filepath.Join("testdata", dir, platform+".golden"), golden.String())
	}
}

func TestMistakesOfAdministratorsAreFound(t *testing.T) {
	all, found, sources := 0, 0, map[string]bool{}
	check(t, "mistakes", func(t *testing.T, s sample, _ bool, lines string) {
		t.Helper()
		require.Equal(t, lines == "", s.Missed != "", lines)
		require.NotContains(t, lines, "correct-horse")
		all++
		if lines != "" {
			found++
		}
		if s.Source != "" {
			sources[s.Source] = true
		}
	})
	require.Equal(t, 311, all)
	require.GreaterOrEqual(t, found, 310)
	require.GreaterOrEqual(t, len(sources), 116)
}

func TestUnusualConfigurationsAreNotRefused(t *testing.T) {
	all := 0
	check(t, "unusual", func(t *testing.T, _ sample, rejected bool, lines string) {
		t.Helper()
		require.False(t, rejected, lines)
		all++
	})
	require.Equal(t, 118, all)
}
