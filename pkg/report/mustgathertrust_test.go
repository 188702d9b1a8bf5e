package report_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// inTenant writes a file of a tenant's namespace into a must-gather.
func inTenant(t *testing.T, dir, content string, path ...string) {
	t.Helper()
	images, err := filepath.Glob(filepath.Join(dir, "quay*"))
	require.NoError(t, err)
	file := filepath.Join(append([]string{images[0], "namespaces", "shop"}, path...)...)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
}

func TestNoTenantMovesTheTimeOfAMustGather(t *testing.T) {
	for name, tenant := range map[string]struct {
		content string
		path    []string
	}{
		"by the time of an Event about a Service": {
			`{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Event, metadata: {name: e, namespace: shop},` +
				` involvedObject: {kind: Service, name: frontend}, lastTimestamp: "2099-01-01T00:00:00Z"}]}`,
			[]string{"core", "events.yaml"},
		},
		"by the renewal of a Lease": {
			`{apiVersion: v1, kind: List, items: [{apiVersion: coordination.k8s.io/v1, kind: Lease,` +
				` metadata: {name: l, namespace: shop}, spec: {renewTime: "2099-01-01T00:00:00.000000Z"}}]}`,
			[]string{"coordination.k8s.io", "leases.yaml"},
		},
		"by a field manager": {
			`{apiVersion: v1, kind: Service, metadata: {name: frontend, namespace: shop, managedFields:` +
				` [{manager: m, operation: Update, subresource: status, time: "2099-01-01T00:00:00Z"}]}}`,
			[]string{"core", "services", "frontend.yaml"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := mustGathered(t, newWorld(t))
			inTenant(t, dir, tenant.content, tenant.path...)
			stored, err := snapshot.ReadDirectory(dir, nil, snapshot.Service("shop", "frontend")...)
			require.NoError(t, err)
			require.Equal(t, now.UTC(), stored.Taken)
			status, err := report.StatusOf(stored)
			require.NoError(t, err)
			require.Empty(t, status.Operator.Problem)
		})
	}
}

func TestAFileThatNoQuestionNeedsIsNotRead(t *testing.T) {
	dir := mustGathered(t, newWorld(t))
	inTenant(t, dir, "items:\n- {a", "core", "events.yaml")
	_, err := snapshot.ReadDirectory(dir, report.LeadingPod, snapshot.NodeEvents()...)
	require.NoError(t, err)
}
