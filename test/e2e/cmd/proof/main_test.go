package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/record"
)

func TestEachRecordIsARow(t *testing.T) {
	var b strings.Builder
	records{steps: []record.Step{
		{Platform: "openstack", Order: 2, Name: "it rolls out", Duration: record.Seconds(time.Second)},
		{Platform: "openstack", Order: 1, Name: "it starts", Duration: record.Seconds(time.Minute), Detail: "a|b", Commit: "0123"},
		{Platform: "openstack", Order: 1, Name: "it starts", Duration: record.Seconds(time.Hour), Cold: true},
		{Platform: "aws", Order: 1, Name: "it rolls out", Duration: record.Seconds(2 * time.Second)},
		{Platform: "openstack", Story: record.Deletions, Name: "an instance is deleted", Detail: "gone", Commit: "0123"},
	},
		lies: []record.Lie{
			{Platform: "openstack", Name: "nothing is found", Reason: "NodeReports", Visible: record.Seconds(time.Second),
				Commit: "0123"},
			{Platform: "aws", Name: "nothing is found"},
			{Platform: "openstack", Name: "the cloud is down"},
		},
		faults: []record.Fault{
			{Name: "a manifest is deleted", Condition: "NodeFilesRepaired", Visible: record.Seconds(time.Second),
				FewestServing: 2, Invariants: "held", Allowance: "it is allowed",
				Limits: []string{"none leads for 1s of at most 30s"}, Commit: "0123"},
			{Name: "the operator is killed", Invariants: "two processes led"},
		}}.write(&b)
	require.Contains(t, b.String(), "\n### aws\n"+liesHeader+"| nothing is found |  |  |  |  |\n\n### openstack\n"+liesHeader+
		"| nothing is found | `NodeReports` | 1.0 s | 0.0 s | 0123 |\n| the cloud is down |  |  |  |  |\n\nTrue answers")
	require.Contains(t, b.String(), `| step | aws | openstack | openstack, cold |
|---|---|---|---|
| it starts | – | 60.0 s | 3600.0 s |
| it rolls out | 2.0 s | 1.0 s | – |
`)
	require.Contains(t, b.String(), "| openstack | it starts | a\\|b | 0123 |\n")
	require.Contains(t, b.String(), "| an instance is deleted | gone | 0123 |\n")
	require.Contains(t, b.String(),
		"| a manifest is deleted | 1.0 s, `NodeFilesRepaired` | 0.0 s | 0.0 s | 2 | held, but it is allowed (none leads for 1s of at most 30s) | 0123 |\n")
	require.Contains(t, b.String(), "| the operator is killed |  | 0.0 s | 0.0 s | 0 | two processes led |  |\n")
}

func TestAStoryWithAGivenCCMHasItsOwnSection(t *testing.T) {
	former := parse(`# Proof

## Platforms whose CCM was given

About them.

### aws

an old run

### gcp

another run

## Faults
`)
	var b strings.Builder
	records{former: former, steps: []record.Step{
		{Platform: "aws", Name: "it starts", Duration: record.Seconds(time.Second), CCM: "example.com/ccm v1 sha256:01",
			Detail: "a|b", Commit: "0123"},
		{Platform: "aws", Name: "it starts", Duration: record.Seconds(time.Minute)},
	}}.write(&b)
	require.Contains(t, b.String(), "| step | aws |\n|---|---|\n| it starts | 60.0 s |\n")
	require.Contains(t, b.String(), aboutGiven+`
### aws

`+"`example.com/ccm v1 sha256:01`"+`

| step | took | seen | commit |
|---|---|---|---|
| it starts | 1.0 s | a\|b | 0123 |

### gcp

another run

## Faults
`)
	b.Reset()
	records{former: former}.write(&b)
	require.Contains(t, b.String(), "\n### aws\n\nan old run\n\n### gcp\n\nanother run\n")
}

// The records are on the machine that made them.
func TestWhatHasNoRecordStays(t *testing.T) {
	const former = `# Proof

## Platforms

| step | aws |
|---|---|
| it starts | 60.0 s |

## Faults

About the table.

| fault | visible | converged | no leader | serving | invariants | commit |
|---|---|---|---|---|---|---|
| a manifest is deleted | 31.4 s, ` + "`NodeFilesRepaired`" + ` | 10.8 s | 0.3 s | 2 | held | 0123 |
| the operator is killed | its successor goes on | 1.0 s | 0.3 s | 2 | held | 0123 |
`
	var b strings.Builder
	records{former: parse(former)}.write(&b)
	require.True(t, strings.HasPrefix(b.String(), introduction+aboutCoverage))
	require.True(t, strings.HasSuffix(b.String(), strings.TrimPrefix(former, "# Proof\n")))

	b.Reset()
	records{former: parse(former), faults: []record.Fault{
		{Name: "a manifest is deleted", Unseen: "it is there again", Invariants: "held", FewestServing: 3, Commit: "4567"},
		{Name: "the clock is wrong", Invariants: "held", Commit: "4567"},
	}}.write(&b)
	require.Contains(t, b.String(), "\n## Platforms\n\n| step | aws |\n|---|---|\n| it starts | 60.0 s |\n\n## Faults\n")
	require.NotContains(t, b.String(), "About the table.")
	require.Contains(t, b.String(), faultsHeader+`|---|---|---|---|---|---|---|
| a manifest is deleted | it is there again | 0.0 s | 0.0 s | 3 | held | 4567 |
| the clock is wrong |  | 0.0 s | 0.0 s | 0 | held | 4567 |
| the operator is killed | its successor goes on | 1.0 s | 0.3 s | 2 | held | 0123 |
`)
}

func TestTheColumnOfAPlatformWithoutARecordStays(t *testing.T) {
	former := parse(`# Proof

## Platforms

| step | aws | vsphere |
|---|---|---|
| it starts | 4.4 s | 5.5 s |
| it balances | 6.6 s | – |

| platform | step | seen | commit |
|---|---|---|---|
| aws | it starts | a former run | 0123 |
| vsphere | it starts | a run | 0123 |
`)
	var b strings.Builder
	records{former: former, steps: []record.Step{
		{Platform: "aws", Name: "it starts", Duration: record.Seconds(time.Second), Detail: "another run", Commit: "4567"},
		{Platform: "external", Name: "it ends", Order: 2, Duration: record.Seconds(time.Minute)},
	}}.write(&b)
	require.Contains(t, b.String(), `| step | aws | external | vsphere |
|---|---|---|---|
| it starts | 1.0 s | – | 5.5 s |
| it ends | – | 60.0 s | – |
`+aboutFigures+`| aws | it starts | another run | 4567 |
| vsphere | it starts | a run | 0123 |
`)
}

func TestTheTableOfCoverageIsThatOfTheStories(t *testing.T) {
	former := parse(`# Proof

## Platforms

| step | aws | openstack, cold | vsphere |
|---|---|---|---|
| the bootstrap node initializes the first control-plane node | 4.4 s | 6.5 s | – |
| rotated credentials leave no use of the former | – | 7.5 s | 8.0 s |

| platform | step | seen | commit |
|---|---|---|---|
| aws | rotated credentials leave no use of the former | 1s | 0123 |

## Platforms whose CCM was given

### aws

| step | took | seen | commit |
|---|---|---|---|
| the bootstrap node initializes the first control-plane node | 1.0 s | a | 0123 |

### ibmcloud

| step | took | seen | commit |
|---|---|---|---|
| the Node of a deleted instance stays until its Machine's controller deletes it | 1.0 s | a | 0123 |
`)
	var b strings.Builder
	writeCoverage(&b, former)
	for _, row := range []string{
		"| aws | golden | built, given | – | – | – | – |",
		"| ibmcloud | golden | – | – | – | given | – |",
		"| openstack | golden | – | – | – | – | – |",
		"| vsphere | golden | – | – | built | – | – |",
		"| none | – | – | – | – | – | – |",
	} {
		require.Contains(t, b.String(), "\n"+row+"\n")
	}
}

// A platform without a run has to have a reason.
func TestTheDocumentsTableOfCoverageIsCurrentAndComplete(t *testing.T) {
	content, err := os.ReadFile("../../../../docs/proof.md")
	require.NoError(t, err)
	var b strings.Builder
	writeCoverage(&b, parse(string(content)))
	require.Contains(t, string(content), b.String(), "make proof writes the table")
	for line := range strings.Lines(b.String()) {
		if cells := cellsOf(line); len(cells) > 1 && uncovered[cells[0]] == "" {
			require.NotContains(t, cells, "–", line)
		}
	}
}
