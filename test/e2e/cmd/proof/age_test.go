package main

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/record"
)

const (
	today, yesterday = "0123456789ab", "cdef01234567"
	repository       = "../../../.."
)

func TestARowOfAFormerOperatorIsMarked(t *testing.T) {
	a := ages{known: map[string]bool{today: true, yesterday: true}, current: map[string]bool{today: true}}
	require.Equal(t, "| a | "+today+" |\n| b | "+yesterday+" † |\n| c | "+yesterday+" † |\n| d | "+today+" |\n",
		a.mark("| a | "+today+" |\n| b | "+yesterday+" |\n| c | "+yesterday+" † |\n| d | "+today+" † |\n"))
}

func TestTheTableOfCoverageHasTheMarks(t *testing.T) {
	const step = "rotated credentials leave no use of the former"
	found := parse("# Proof\n\n## Platforms\n\n| step | aws | vsphere |\n|---|---|---|\n| " + step + " | 4.4 s | 5.5 s |\n\n" +
		"| platform | step | seen | commit |\n|---|---|---|---|\n| aws | " + step + " | 1s | " + today + " |\n| vsphere | " + step +
		" | 1s | " + yesterday + " † |\n\n## " + givenHeading + "\n\n### aws\n\n| " + step + " | 1.0 s | a | " + yesterday + " † |\n").steps()
	require.Equal(t, []string{"built", "given †"}, found["aws"][step])
	require.Equal(t, []string{"built †"}, found["vsphere"][step])
}

func TestARecordThatNobodyCanRepeatIsRefused(t *testing.T) {
	a := ages{known: map[string]bool{today: true}}
	require.NoError(t, records{ages: a, steps: []record.Step{{Commit: today, CCM: "example.com/ccm v1.2.3 sha256:01"}}}.check())
	require.EqualError(t, records{ages: a,
		steps: []record.Step{
			{Platform: "gcp", Name: "it starts", Commit: today, CCM: "example.com/ccm (devel) sha256:01"},
			{Platform: "aws", Name: "it starts", Commit: today, CCM: "example.com/ccm v1.2.3+dirty sha256:01"},
		},
		lies:    []record.Lie{{Name: "nothing is found", Commit: today + "-dirty"}},
		faults:  []record.Fault{{Name: "a manifest is deleted", Commit: yesterday}},
		rollout: &record.Rollout{Commit: yesterday},
	}.check(), `record of gcp, it starts: the cloud-controller-manager's version has "(devel)": build it from a clean clone
record of aws, it starts: the cloud-controller-manager's version has "+dirty": build it from a clean clone
record of nothing is found: the repository has no commit "0123456789ab-dirty": run it again from one that is merged
record of a manifest is deleted: the repository has no commit "cdef01234567": run it again from one that is merged
record of the rollout: the repository has no commit "cdef01234567": run it again from one that is merged`)
}

func TestOnlyCodeMakesAnotherOperator(t *testing.T) {
	directory := t.TempDir()
	run := func(args ...string) []string {
		output, err := git(t.Context(), directory, append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		require.NoError(t, err)
		return output
	}
	run("init", "--quiet")
	require.NoError(t, os.MkdirAll(directory+"/pkg/a", 0o755))
	var made []string
	for _, change := range []struct{ file, content string }{
		{"a.go", "package a\n\nfunc A() {}\n"},
		{"a.go", "package a\n\nfunc B() {}\n"},
		{"a.go", "package a\n\n// B does it.\nfunc B() {}\n"},
		{"a_test.go", "package a\n"},
	} {
		require.NoError(t, os.WriteFile(directory+"/pkg/a/"+change.file, []byte(change.content), 0o600))
		run("add", ".")
		run("commit", "--quiet", "--message=a")
		made = append(made, run("rev-parse", "--short="+shortCommit, "HEAD")...)
	}
	a, err := readAges(t.Context(), directory)
	require.NoError(t, err)
	require.Equal(t, map[string]bool{made[1]: true, made[2]: true, made[3]: true}, a.current)
}

// toRepeat are the platforms whose story with a given cloud-controller-manager was recorded before records were checked.
var toRepeat = map[string]bool{
	"aws": true, "azure": true, "gcp": true, "ibmcloud": true, "powervs": true, "vsphere": true,
}

func TestEachRowOfTheDocumentCanBeRepeated(t *testing.T) {
	isShallow, err := git(t.Context(), repository, "rev-parse", "--is-shallow-repository")
	if err != nil || isShallow[0] != "false" {
		t.Skip("only a clone with its whole history has the commits of the records")
	}
	content, err := os.ReadFile(repository + "/docs/proof.md")
	require.NoError(t, err)
	a, err := readAges(t.Context(), repository)
	require.NoError(t, err)
	document := parse(string(content))
	ccm := regexp.MustCompile("\n`(.*)`\n")
	for name, section := range document.subsections(givenHeading) {
		problems := a.problems(section, ccm.FindString(section))
		if toRepeat[name] {
			require.NotEmpty(t, problems, "%s: remove it from toRepeat", name)
		} else {
			require.Empty(t, problems, name)
		}
	}
	delete(document, givenHeading)
	for heading, section := range document {
		require.Empty(t, a.problems(section, ""), heading)
	}
}

// problems returns what prevents that the rows of a section are repeated.
func (a ages) problems(section, ccm string) []string {
	var problems []string
	for _, cell := range commitCell.FindAllStringSubmatch(section, -1) {
		if problem := a.untraceable(cell[1], ccm); problem != "" {
			problems = append(problems, problem)
		}
	}
	return problems
}
