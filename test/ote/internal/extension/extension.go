// Package extension speaks the protocol of openshift-tests with a binary that has tests: info, list, run-test,
// run-suite and images, in version v1.1 of github.com/openshift-eng/openshift-tests-extension.
package extension

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// apiVersion is the version of the protocol.
const apiVersion = "v1.1"

// ErrSkipped is wrapped by the error of a test that does not apply to the cluster.
var ErrSkipped = errors.New("skipped")

// Skip returns the error of a test that does not apply, and why.
func Skip(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSkipped, fmt.Sprintf(format, args...))
}

// Extension is what a binary offers.
type Extension struct {
	APIVersion string    `json:"apiVersion"`
	Source     Source    `json:"source"`
	Component  Component `json:"component"`
	Suites     []Suite   `json:"suites"`
	// Images are the images that the tests pull.
	Images []Image `json:"images"`
	Tests  []Test  `json:"-"`
}

// Source is what the binary was built from.
type Source struct {
	Commit       string `json:"commit"`
	BuildDate    string `json:"build_date"`
	GitTreeState string `json:"git_tree_state"`
	SourceURL    string `json:"source_url,omitempty"`
}

// Component is what the tests are about. Its fields, joined by colons, identify it.
type Component struct {
	Product string `json:"product"`
	Kind    string `json:"type"`
	Name    string `json:"name"`
}

// Suite selects tests: those for which one of the qualifiers, which are CEL expressions over name and labels, is true.
type Suite struct {
	Name             string   `json:"name"`
	Description      string   `json:"description"`
	Parents          []string `json:"parents,omitempty"`
	Qualifiers       []string `json:"qualifiers,omitempty"`
	Parallelism      int      `json:"parallelism,omitempty"`
	ClusterStability string   `json:"clusterStability,omitempty"`
}

// Image is an image that a test pulls.
type Image struct {
	Index    int    `json:"index"`
	Registry string `json:"registry"`
	Name     string `json:"name"`
	Version  string `json:"version"`
}

// Lifecycle says what a failure means.
type Lifecycle string

// A failure of a blocking test fails the job; that of an informing one is only recorded.
const (
	Blocking  Lifecycle = "blocking"
	Informing Lifecycle = "informing"
)

// Test is one test.
type Test struct {
	// Name identifies the test, also in the history of all releases.
	Name string `json:"name"`
	// OriginalName is the first name of a test that was renamed.
	OriginalName        string              `json:"originalName,omitempty"`
	Labels              sets.Set[string]    `json:"labels"`
	Resources           Resources           `json:"resources"`
	Source              string              `json:"source"`
	Lifecycle           Lifecycle           `json:"lifecycle"`
	EnvironmentSelector EnvironmentSelector `json:"environmentSelector,omitzero"`

	// Run returns nil if the test passed, and an error that wraps ErrSkipped if it does not apply. What it writes is the
	// test's output.
	Run func(ctx context.Context, out io.Writer) error `json:"-"`
}

// Resources are what a test needs.
type Resources struct {
	Isolation Isolation `json:"isolation"`
	Timeout   string    `json:"timeout,omitempty"`
}

// Isolation says what a test may not run beside.
type Isolation struct {
	Mode     string   `json:"mode,omitempty"`
	Conflict []string `json:"conflict,omitempty"`
}

// EnvironmentSelector has CEL expressions over the environment of the cluster.
type EnvironmentSelector struct {
	Include string `json:"include,omitempty"`
	Exclude string `json:"exclude,omitempty"`
}

// Result is the outcome of a test.
type Result struct {
	Name      string    `json:"name"`
	Lifecycle Lifecycle `json:"lifecycle"`
	// Duration is in milliseconds.
	Duration  int64     `json:"duration"`
	StartTime timestamp `json:"startTime"`
	EndTime   timestamp `json:"endTime"`
	// Result is passed, skipped or failed.
	Result string `json:"result"`
	Output string `json:"output"`
	Error  string `json:"error,omitempty"`
}

// timestamp is a time in the format of the protocol.
type timestamp time.Time

// MarshalJSON implements json.Marshaler.
func (t timestamp) MarshalJSON() ([]byte, error) {
	return []byte(time.Time(t).UTC().Format(`"2006-01-02 15:04:05.000000 UTC"`)), nil
}
