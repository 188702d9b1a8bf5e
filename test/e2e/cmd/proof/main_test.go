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
	records{steps: []record.Step{{Platform: "openstack", Name: "it starts", Duration: record.Seconds(time.Minute), Detail: "a|b"}},
		lies: []record.Lie{
			{Name: "nothing is found", Reason: "NodeReports", Visible: record.Seconds(time.Second), Commit: "0123"},
			{Name: "the cloud is down"},
		},
		recording: "$ make e2e\n",
		faults: []record.Fault{
			{Name: "a manifest is deleted", Condition: "NodeFilesRepaired", Visible: record.Seconds(time.Second),
				FewestServing: 2, Invariants: "held", Allowance: "it is allowed", Commit: "0123"},
			{Name: "the operator is killed", Invariants: "two processes led"},
		}}.write(&b)
	require.Contains(t, b.String(), "\n```\n$ make e2e\n```\n")
	require.Contains(t, b.String(), "| nothing is found | `NodeReports` | 1.0 s | 0.0 s | 0123 |\n| the cloud is down |  |  |  |  |\n")
	require.Contains(t, b.String(), `| openstack | it starts | 60.0 s | a\|b |  |`)
	require.Contains(t, b.String(),
		"| a manifest is deleted | 1.0 s, `NodeFilesRepaired` | 0.0 s | 0.0 s | 2 | held, but it is allowed | 0123 |\n")
	require.Contains(t, b.String(), "| the operator is killed |  | 0.0 s | 0.0 s | 0 | two processes led |  |\n")
}
