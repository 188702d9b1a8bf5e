// Package record stores what the long suites measured, one JSON file per result, so that docs/proof.md can be
// generated from the results of several runs.
package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

// DirVariable is the environment variable that overrides the default of Dir. BuildVariable has the seconds in which
// hack/e2e.sh built what the cluster runs.
const (
	DirVariable   = "PROOF_DIR"
	BuildVariable = "BUILD_SECONDS"
)

const (
	faultsDir = "faults"
	stepsDir  = "steps"
	liesDir   = "lies"

	rolloutFile = "rollout.json"
)

// Deletions is the story of machines that the cloud deletes, beside the lies.
const Deletions = "deletions"

// Seconds is a duration that JSON has as a number of seconds.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(s).Seconds())
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	var seconds float64
	if err := json.Unmarshal(text, &seconds); err != nil {
		return fmt.Errorf("seconds: %w", err)
	}
	*s = Seconds(seconds * float64(time.Second))
	return nil
}

// Fault is the result of one row of the fault table.
type Fault struct {
	// Name is the sentence of the row.
	Name string `json:"name"`
	// Condition is the condition that reported the fault, empty for a fault that needs none.
	Condition string `json:"condition,omitempty"`
	// Unseen is why the fault needs no condition.
	Unseen string `json:"unseen,omitempty"`
	// Message is that condition's message.
	Message string `json:"message,omitempty"`
	// Visible is the time from the fault to the condition.
	Visible Seconds `json:"visible,omitempty"`
	// Converged is the time from the end of the fault to a clean cluster.
	Converged Seconds `json:"converged"`
	// WithoutLeader is the longest time in which no process led.
	WithoutLeader Seconds `json:"withoutLeader"`
	// FewestServing is the least number of processes that answered at the same time.
	FewestServing int `json:"fewestServing"`
	// Invariants is "held", or lists the violations.
	Invariants string `json:"invariants"`
	// Allowance is the reason for what the row may do beyond the invariants.
	Allowance string `json:"allowance,omitempty"`
	// Limits are the limits of the allowance, and what was seen of each.
	Limits []string `json:"limits,omitempty"`
	// Date is the time of the run, and Commit the sources.
	Date   time.Time `json:"date"`
	Commit string    `json:"commit"`
}

// Step is the result of one step of a story.
type Step struct {
	// Platform is the name in the operator's registry.
	Platform string `json:"platform"`
	// Story is empty for the story that every platform has.
	Story string `json:"story,omitempty"`
	// Cold is true if the servers, the programs and the images of the cluster were built before, with empty caches.
	Cold bool `json:"cold,omitempty"`
	// CCM is the cloud-controller-manager that the user gave: module, version, commit and digest. It is empty for the one
	// that is built here.
	CCM string `json:"ccm,omitempty"`
	// Order sorts the steps of a story.
	Order int `json:"order"`
	// Name is the sentence of the step.
	Name string `json:"name"`
	// Duration is how long the step took.
	Duration Seconds `json:"duration"`
	// Detail is what was seen.
	Detail string `json:"detail,omitempty"`
	// Date is the time of the run, and Commit the sources.
	Date   time.Time `json:"date"`
	Commit string    `json:"commit"`
}

// Lie is the result of one wrong answer of a cloud about machines that exist.
type Lie struct {
	// Platform is the name in the operator's registry.
	Platform string `json:"platform"`
	// Name is the sentence of the lie. Order sorts the lies.
	Name  string `json:"name"`
	Order int    `json:"order"`
	// Reason is that of the condition that reported the lie after Visible, empty for one that cannot delete a Node.
	Reason  string  `json:"reason,omitempty"`
	Visible Seconds `json:"visible,omitempty"`
	// Cleared is the time from the end of the lie to the end of the condition.
	Cleared Seconds `json:"cleared"`
	// Date is the time of the run, and Commit the sources.
	Date   time.Time `json:"date"`
	Commit string    `json:"commit"`
}

// Rollout is what a monitor saw while a revision was rolled out.
type Rollout struct {
	Spans []Span `json:"spans"`
	// Date is the time of the run, and Commit the sources.
	Date   time.Time `json:"date"`
	Commit string    `json:"commit"`
}

// Span is a time in which one thing had one state, in seconds since the rollout began.
type Span struct {
	Track string  `json:"track"`
	State string  `json:"state"`
	From  Seconds `json:"from"`
	To    Seconds `json:"to"`
}

// Dir returns the directory of the records.
func Dir() (string, error) {
	//nolint:forbidigo // Tests have no flags of their own.
	if dir := os.Getenv(DirVariable); dir != "" {
		return dir, nil
	}
	repository, err := devcluster.FindRepository(".")
	if err != nil {
		return "", fmt.Errorf("directory of records: %w", err)
	}
	return filepath.Join(repository, "_output", "proof"), nil
}

// Commit returns the commit of the repository, with "-dirty" if tracked files differ from it.
func Commit(ctx context.Context, repository string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", "-C", repository, "describe", "--always", "--abbrev=12", "--dirty",
		"--exclude=*")
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("commit of %s: %w", repository, err)
	}
	return strings.TrimSpace(string(output)), nil
}

// WriteFault replaces the record of the fault with the same name.
func WriteFault(dir string, fault *Fault) error {
	return write(filepath.Join(dir, faultsDir, slug(fault.Name)+".json"), fault)
}

// WriteStep replaces the record of the step with the same platform, story and name, cold or warm, with the
// cloud-controller-manager that is built here or one that was given.
func WriteStep(dir string, step *Step) error {
	name := slug(step.Platform+" "+step.Story) + "--" + slug(step.Name)
	if step.Cold {
		name += "--cold"
	}
	if step.CCM != "" {
		name += "--given"
	}
	return write(filepath.Join(dir, stepsDir, name+".json"), step)
}

// WriteLie replaces the record of the lie with the same name.
func WriteLie(dir string, lie *Lie) error {
	return write(filepath.Join(dir, liesDir, slug(lie.Platform)+"--"+slug(lie.Name)+".json"), lie)
}

// WriteRollout replaces the record of the rollout.
func WriteRollout(dir string, rollout *Rollout) error {
	return write(filepath.Join(dir, rolloutFile), rollout)
}

// ReadRollout returns the record of the rollout, nil if there is none.
func ReadRollout(dir string) (*Rollout, error) {
	content, err := os.ReadFile(filepath.Join(dir, rolloutFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	rollout := &Rollout{}
	if err := json.Unmarshal(content, rollout); err != nil {
		return nil, fmt.Errorf("record %s: %w", rolloutFile, err)
	}
	return rollout, nil
}

// Lies returns all records of lies in their order.
func Lies(dir string) ([]Lie, error) {
	lies, err := read[Lie](filepath.Join(dir, liesDir))
	slices.SortFunc(lies, func(a, b Lie) int { return a.Order - b.Order })
	return lies, err
}

// Faults returns all records of faults, sorted by name.
func Faults(dir string) ([]Fault, error) {
	faults, err := read[Fault](filepath.Join(dir, faultsDir))
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.Name, b.Name) })
	return faults, err
}

// Steps returns all records of steps, sorted by platform and order.
func Steps(dir string) ([]Step, error) {
	steps, err := read[Step](filepath.Join(dir, stepsDir))
	slices.SortFunc(steps, func(a, b Step) int {
		if order := strings.Compare(a.Platform, b.Platform); order != 0 {
			return order
		}
		return a.Order - b.Order
	})
	return steps, err
}

var separators = regexp.MustCompile(`[^a-z0-9]+`)

// slug returns a file name for a sentence.
func slug(sentence string) string {
	return strings.Trim(separators.ReplaceAllString(strings.ToLower(sentence), "-"), "-")
}

// write replaces a file at once, so that a reader never sees half of it.
func write(path string, value any) (err error) {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("record %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".record-*")
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	_, err = file.Write(append(content, '\n'))
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("record: %w", err), os.Remove(file.Name()))
	}
	return nil
}

// read returns the records of a directory, none if the directory does not exist.
func read[T any](dir string) ([]T, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	var records []T
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".json" {
			continue // A temporary file of a run that was killed.
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("records: %w", err)
		}
		var value T
		if err := json.Unmarshal(content, &value); err != nil {
			return nil, fmt.Errorf("record %s: %w", filepath.Join(dir, entry.Name()), err)
		}
		records = append(records, value)
	}
	return records, nil
}
