package filesyncer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// ReportConfigMap contains a Report as JSON for each node, by the node's name.
const ReportConfigMap = "node-files"

// ReportPeriod is how often an unchanged report is repeated, so that a file-syncer that no longer works is noticed.
const ReportPeriod = 5 * time.Minute

// Report describes the current files on a node. If they differ from the revision, the operator installs it again.
type Report struct {
	// Directory and Manifest are the digests of the revision's directory and of the static pod's manifest; "" if they are
	// missing or cannot be read.
	Directory string `json:"directory"`
	Manifest  string `json:"manifest"`
	// NotWritten names the objects whose last attempt failed, with the errors.
	NotWritten string `json:"notWritten,omitempty"`
	// At is the time of the report by the node's clock.
	At metav1.Time `json:"at"`
}

const (
	// maxReport limits a report in bytes: 4 bytes for each character of NotWritten, and the rest.
	maxReport = 4096
	// maxNotWritten limits Report.NotWritten in characters, so that those of several nodes fit in a condition.
	maxNotWritten = 500
)

// digest matches the results of nodefiles.DigestOf.
var digest = regexp.MustCompile(`^(?:sha256:[0-9a-f]{1,64})?$`)

// ParseReport parses a report that need not be from the file-syncer of that node: all file-syncers have the same token,
// so the API cannot tell them apart. NotWritten is printable and bounded.
func ParseReport(text string) (Report, error) {
	if len(text) > maxReport {
		return Report{}, fmt.Errorf("the report has %d bytes, more than %d", len(text), maxReport)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var report Report
	if decoder.Decode(&report) != nil || decoder.More() {
		return Report{}, errors.New("the report is not one JSON object with the fields of a report") // quotes nothing
	}
	if !digest.MatchString(report.Directory) || !digest.MatchString(report.Manifest) {
		return Report{}, errors.New("the report has a digest that is none")
	}
	report.NotWritten = bounded(report.NotWritten)
	return report, nil
}

func bounded(text string) string {
	if len(text) > maxReport {
		text = text[:maxReport]
	}
	line := []rune(printable.Line(text))
	if len(line) > maxNotWritten {
		line = append(line[:maxNotWritten-1], '…')
	}
	return string(line)
}

// report writes this node's report if it differs from the stored one, or if that one is old.
func (s *syncer) report(ctx context.Context) error {
	stored, exists, err := s.stores[object{configMaps, ReportConfigMap}].GetByKey(s.Namespace + "/" + ReportConfigMap)
	if err != nil || !exists {
		return err // the operator creates it
	}
	current := s.look(ctx)
	if s.isCurrent(stored.(*unstructured.Unstructured), current) {
		return nil
	}
	text, err := json.Marshal(current)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{s.Node: string(text)}})
	if err != nil {
		return err
	}
	_, err = s.client(object{resource: configMaps}).Patch(ctx, ReportConfigMap, types.MergePatchType, patch,
		metav1.PatchOptions{})
	return err
}

// look returns the state of the files. What cannot be read counts as missing, so that the operator writes it again.
func (s *syncer) look(ctx context.Context) Report {
	digestOf := func(path string) string {
		digest, err := nodefiles.DigestOf(path)
		if err != nil {
			klog.FromContext(ctx).Error(err, "It cannot be read, and is reported as missing", "path", path)
			return ""
		}
		return digest
	}
	current := Report{
		At: metav1.NewTime(s.Clock.Now()), Directory: digestOf(s.RevisionDirectory), Manifest: digestOf(s.Manifest),
	}
	var failures []string
	for o, failure := range s.failing {
		failures = append(failures, fmt.Sprintf("%s: %v", o, failure))
	}
	slices.Sort(failures)
	current.NotWritten = bounded(strings.Join(failures, "; "))
	return current
}

// isCurrent reports whether the stored report of this node is recent and otherwise equal.
func (s *syncer) isCurrent(stored *unstructured.Unstructured, current Report) bool {
	text, _, err := unstructured.NestedString(stored.Object, "data", s.Node)
	if err != nil {
		return false
	}
	var known Report
	if err := json.Unmarshal([]byte(text), &known); err != nil {
		return false
	}
	age := current.At.Sub(known.At.Time)
	known.At = current.At
	return known == current && age >= 0 && age < ReportPeriod
}
