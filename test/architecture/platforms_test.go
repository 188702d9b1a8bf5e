package architecture

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// The other tests of a platform report consequences of a missing part; this one names the part.
func TestEveryPlatformHasItsParts(t *testing.T) {
	for _, p := range platform.All() {
		if !p.Managed() {
			continue
		}
		for _, folder := range []string{
			"bindata/assets/platforms/" + p.Name,
			"pkg/operand/testdata/" + p.Name,
			"pkg/cmd/validate/testdata/" + p.Name,
		} {
			_, err := os.Stat(filepath.Join(root, folder))
			assert.NoError(t, err, "platform %s has no %s: docs/adding-a-platform.md describes it", p.Name, folder)
		}
	}
}
