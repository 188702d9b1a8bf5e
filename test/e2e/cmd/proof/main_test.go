package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/record"
)

func TestEachRecordIsARow(t *testing.T) {
	var b strings.Builder
	write(&b, []record.Step{{Platform: "openstack", Name: "it starts", Duration: record.Seconds(time.Minute), Detail: "a|b"}},
		[]record.Fault{
			{Name: "a manifest is deleted", Condition: "NodeFilesRepaired", Visible: record.Seconds(time.Second),
				FewestServing: 2, Invariants: "held", Allowance: "it is allowed", Commit: "0123"},
			{Name: "the operator is killed", Invariants: "two processes led"},
		})
	require.Contains(t, b.String(), `| openstack | it starts | 60.0 s | a\|b |  |`)
	require.Contains(t, b.String(),
		"| a manifest is deleted | 1.0 s, `NodeFilesRepaired` | 0.0 s | 0.0 s | 2 | held, but it is allowed | 0123 |\n")
	require.Contains(t, b.String(), "| the operator is killed |  | 0.0 s | 0.0 s | 0 | two processes led |  |\n")
}
