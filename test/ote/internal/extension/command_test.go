package extension

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
)

func sample() *Extension {
	test := func(name string, lifecycle Lifecycle, run func(io.Writer) error, labels ...string) Test {
		return Test{
			Name: name, Labels: sets.New(labels...), Source: "a:b:c", Lifecycle: lifecycle,
			Run: func(_ context.Context, out io.Writer) error { return run(out) },
		}
	}
	onAWS := test("on AWS", Blocking, func(io.Writer) error { return nil }, "Cloud")
	onAWS.EnvironmentSelector = EnvironmentSelector{Include: `platform=="aws"`, Exclude: `topology=="SingleReplica"`}
	return &Extension{
		Component: Component{Product: "a", Kind: "b", Name: "c"},
		Suites: []Suite{
			{Name: "all"},
			{Name: "cloud", Qualifiers: []string{`labels.exists(l, l=="Cloud")`}},
			{Name: "broken", Qualifiers: []string{`nobody==1`}},
		},
		Images: []Image{},
		Tests: []Test{
			onAWS,
			test("passes", Blocking, func(out io.Writer) error { fmt.Fprintln(out, "looked"); return nil }),
			test("skips", Blocking, func(io.Writer) error { return fmt.Errorf("first: %w", Skip("no %s", "cloud")) }),
			test("fails", Blocking, func(io.Writer) error { return errors.New("it is broken") }),
			test("informs", Informing, func(io.Writer) error { return errors.New("it is broken") }),
			test("panics", Informing, func(io.Writer) error { panic("nil map") }),
		},
	}
}

// execute returns what a command prints.
func execute(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	command := NewCommand(sample())
	var out bytes.Buffer
	command.SetArgs(args)
	command.SetIn(strings.NewReader(input))
	command.SetOut(&out)
	command.SetErr(io.Discard)
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

func TestTheTestsOfASuiteAndAnEnvironmentAreListed(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"all tests":                   {args: []string{"list"}, want: "on AWS passes skips fails informs panics"},
		"by the subcommand":           {args: []string{"list", "tests"}, want: "on AWS passes skips fails informs panics"},
		"another platform":            {args: []string{"list", "--platform=gcp"}, want: "passes skips fails informs panics"},
		"the platform":                {args: []string{"list", "--platform=aws", "--suite=cloud"}, want: "on AWS"},
		"an excluded topology":        {args: []string{"list", "--platform=aws", "--topology=SingleReplica", "--suite=cloud"}},
		"a suite without a qualifier": {args: []string{"list", "--suite=all"}, want: "on AWS passes skips fails informs panics"},
		"a suite by labels":           {args: []string{"list", "--suite=cloud"}, want: "on AWS"},
		"a feature gate says no platform": {
			args: []string{"list", "--feature-gate=X", "--suite=cloud"},
		},
		"the suites":     {args: []string{"list", "suites"}, want: "all cloud broken"},
		"the components": {args: []string{"list", "components"}, want: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := execute(t, "", append(tc.args, "--output=names")...)
			require.NoError(t, err)
			require.Equal(t, tc.want, strings.Join(strings.Split(strings.TrimSpace(out), "\n"), " "))
		})
	}
}

func TestAListIsJSON(t *testing.T) {
	out, err := execute(t, "", "list", "--suite=cloud")
	require.NoError(t, err)
	require.JSONEq(t, `[{"name":"on AWS","labels":{"Cloud":{}},"resources":{"isolation":{}},"source":"a:b:c","lifecycle":"blocking",
		"environmentSelector":{"include":"platform==\"aws\"","exclude":"topology==\"SingleReplica\""}}]`, out)
	lines, err := execute(t, "", "list", "--output=jsonl")
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(lines, "\n"))
}

func TestInfoIsWhatTheBinaryOffers(t *testing.T) {
	out, err := execute(t, "", "info", "--component=a:b:c")
	require.NoError(t, err)
	require.JSONEq(t, `{"apiVersion":"v1.1","source":{"commit":"","build_date":"","git_tree_state":""},
		"component":{"product":"a","type":"b","name":"c"},"images":[],"suites":[{"name":"all","description":""},
		{"name":"cloud","description":"","qualifiers":["labels.exists(l, l==\"Cloud\")"]},
		{"name":"broken","description":"","qualifiers":["nobody==1"]}]}`, out)
	images, err := execute(t, "", "images")
	require.NoError(t, err)
	require.Equal(t, "[]\n", images)
}

func TestATestHasAResult(t *testing.T) {
	for name, tc := range map[string]struct {
		result, output, message, err string
	}{
		"passes":  {result: "passed", output: "looked\n"},
		"skips":   {result: "skipped", output: "first: skipped: no cloud\n"},
		"fails":   {result: "failed", message: "it is broken", err: "1 of 1 tests failed"},
		"informs": {result: "failed", message: "it is broken"},
		"panics":  {result: "failed", message: "panic: nil map"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := execute(t, "", "run-test", name)
			if tc.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.err)
			}
			var results []map[string]any
			require.NoError(t, json.Unmarshal([]byte(out), &results))
			require.Len(t, results, 1)
			got := results[0]
			require.Equal(t, name, got["name"])
			require.Equal(t, tc.result, got["result"])
			require.Equal(t, tc.output, got["output"])
			if tc.message != "" {
				require.Equal(t, tc.message, got["error"])
			}
			require.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} UTC$`, got["startTime"])
			require.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} UTC$`, got["endTime"])
			require.IsType(t, 0.0, got["duration"])
		})
	}
}

func TestSeveralTestsRun(t *testing.T) {
	for name, args := range map[string][]string{
		"by flags":                 {"-n", "passes", "-n", "skips"},
		"one after the other":      {"-n", "passes", "-n", "skips", "-c", "0"},
		"by a flag and an operand": {"-n", "passes", "skips"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := execute(t, "", append([]string{"run-test", "-o", "jsonl"}, args...)...)
			require.NoError(t, err)
			require.Equal(t, 2, strings.Count(out, "\n"))
		})
	}
	out, err := execute(t, "passes\n\nskips\n", "run-test", "--output=jsonl")
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(out, "\n"), "names on the standard input")

	out, err = execute(t, "", "run-suite", "all", "--output=jsonl")
	require.EqualError(t, err, "1 of 6 tests failed")
	require.Equal(t, 6, strings.Count(out, "\n"))
}

func TestACommandThatCannotRunSaysWhy(t *testing.T) {
	for want, args := range map[string][]string{
		"name at least one test; `list --output=names` has the names": {"run-test"},
		"there is no test \"x\"; `list --output=names` has the names": {"run-test", "x"},
		"there is no suite \"x\"; `list suites` names them":           {"run-suite", "x"},
		`there is no component "x", only a:b:c`:                       {"info", "--component=x"},
		`output "yaml": it is json, jsonl or names`:                   {"list", "-o", "yaml"},
		`output "names": it is json or jsonl`:                         {"run-test", "passes", "-o", "names"},
		"suite broken: expression \"nobody==1\": ERROR: <input>:1:1: undeclared reference to 'nobody' (in container '')\n | nobody==1\n | ^": {"list", "--suite=broken"},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := execute(t, "", args...)
			require.EqualError(t, err, want)
		})
	}
}

func TestATerminalNamesNoTests(t *testing.T) {
	terminal, err := os.Open("/dev/null") // a character device, as a terminal is
	require.NoError(t, err)
	defer terminal.Close()
	names, err := pipedNames(terminal)
	require.NoError(t, err)
	require.Empty(t, names)
}
