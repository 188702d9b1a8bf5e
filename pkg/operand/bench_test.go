package operand_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// BenchmarkEveryPlatform renders every platform in both phases, as one operation.
func BenchmarkEveryPlatform(b *testing.B) {
	var all []operand.Inputs
	for _, p := range managed() {
		for _, phase := range phases() {
			all = append(all, inputs(b, p, phase))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, in := range all {
			_, err := operand.Render(in)
			require.NoError(b, err)
		}
	}
	b.ReportMetric(float64(len(all)), "renderings/op")
}
