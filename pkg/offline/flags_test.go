package offline

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func TestTheFlagsThatTheOperatorPassesAreKnown(t *testing.T) {
	assets := filepath.Join("..", "..", "bindata", "assets")
	files, err := filepath.Glob(filepath.Join(assets, "platforms", "*", "config.yaml"))
	require.NoError(t, err)
	for _, file := range append(files, filepath.Join(assets, "config", "default.yaml")) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var config struct {
			ExtendedArguments map[string][]string `json:"extendedArguments"`
		}
		require.NoError(t, yaml.Unmarshal(data, &config), file)
		for flag := range config.ExtendedArguments {
			require.Contains(t, knownFlags, flag, file)
		}
	}
}
