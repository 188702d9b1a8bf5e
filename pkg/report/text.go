package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// Width is the maximum number of columns of a line.
const Width = 100

const (
	green = "\x1b[32m"
	red   = "\x1b[1;31m"
	plain = "\x1b[0m"
)

// text is output for a terminal: lines of at most Width columns, without control characters from the cluster.
type text struct {
	out   bytes.Buffer
	color bool
}

// WriteText writes the status as text.
func (s *Status) WriteText(out io.Writer, color bool) error {
	t := &text{color: color}
	t.headline(s)
	t.facts(s)
	t.nodes(s)
	t.inputs(s)
	t.expiries(s)
	if len(s.Uninitialized) > 0 {
		t.title("Nodes that wait for their initialization")
		t.wrapped("  ", "  ", diagnostic.Few(s.Uninitialized))
	}
	t.conditions("Problems", s.Problems)
	t.conditions("In progress", s.Progress)
	t.conditions("Notices", s.furtherNotices())
	t.unread(s.Unread)
	_, err := out.Write(t.out.Bytes())
	return err //nolint:wrapcheck // The caller says what could not be written.
}

func (t *text) unread(all []snapshot.Unread) {
	if len(all) == 0 {
		return
	}
	t.title("Not read")
	for _, unread := range all {
		t.wrapped("  ", "    ", unread.What+": "+unread.Why)
	}
}

func (t *text) headline(s *Status) {
	words := []string{
		word(s.Available.Status, "Available", "not available", "availability unknown"),
		word(s.Progressing.Status, "progressing", "not progressing", "progress unknown"),
		word(s.Degraded.Status, "degraded", "not degraded", "degradation unknown"),
	}
	line, color := strings.Join(words, ", "), red
	switch {
	case s.Operator.Problem != "":
		line = "operator down; before that: " + line
	case s.Healthy():
		color = green
	}
	if t.color {
		line = color + line + plain
	}
	t.out.WriteString(line + "\n")
	if s.Operator.Problem == "" {
		return
	}
	of := ""
	if !s.Operator.LastStatus.IsZero() {
		of = " The status is of " + stamp(s.Operator.LastStatus) + " at the latest."
	}
	t.wrapped("", "", s.Operator.Problem+"."+of+" Check the operator's pods: oc get pods -n "+
		operatorclient.OperatorNamespace)
}

func word(status, yes, no, unknown string) string {
	return cmp.Or(map[string]string{"True": yes, "False": no}[status], unknown)
}

const operatorImage = "operator-image"

func (t *text) facts(s *Status) {
	t.out.WriteByte('\n')
	of := cmp.Or(s.Platform, "not observed yet")
	if _, known := platform.ByName(s.Platform); !known && s.Platform != "" {
		of += ", which is unknown to this version of the command"
	} else if known && !s.Managed {
		of += ", no cloud-controller-manager of this operator runs here"
	}
	rows := [][2]string{{"Platform", of}}
	if s.Infrastructure != "" {
		rows = append(rows, [2]string{"Cluster", s.Infrastructure})
	}
	rows = append(rows, s.versions()...)
	if s.Operator.Running {
		_, process, _ := strings.Cut(s.Operator.Identity, "_")
		process, _, _ = strings.Cut(process, "_")
		label := "" // below the image
		if s.Versions[operatorImage] == "" {
			label = "Operator"
		}
		rows = append(rows, [2]string{label, fmt.Sprintf("%s, lock renewed %s ago",
			cmp.Or(process, s.Operator.Identity), humanDuration(s.Taken.Sub(s.Operator.Renewed)))})
	}
	for _, row := range rows {
		t.line(fmt.Sprintf("%-10s %s", row[0], row[1]))
	}
	if s.Leader != "" {
		none := "none: "
		if strings.HasPrefix(s.Leader, snapshot.NotKnown) {
			none = ""
		}
		t.wrapped("Leader     ", "           ", none+s.Leader)
	}
}

func (s *Status) versions() [][2]string {
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(s.Versions)) {
		if name != operatorImage {
			versions = append(versions, name+" "+s.Versions[name])
		}
	}
	var rows [][2]string
	if len(versions) > 0 {
		rows = append(rows, [2]string{"Versions", strings.Join(versions, ", ")})
	}
	for _, image := range s.Images {
		rows = append(rows, [2]string{"CCM", short(image)})
	}
	if image := s.Versions[operatorImage]; image != "" {
		rows = append(rows, [2]string{"Operator", short(image)})
	}
	return rows
}

func short(image string) string {
	name, digest, found := strings.Cut(image, "@sha256:")
	if !found || len(digest) < 12 {
		return image
	}
	return name + "@sha256:" + digest[:12] + "…"
}

func (t *text) nodes(s *Status) {
	rows := [][]string{{"NODE", "REVISION", "KUBELET", "CCM", "LEADS", "CREDENTIALS"}}
	for _, n := range s.Nodes {
		leads := "-"
		if n.Leads {
			leads = humanDuration(s.Taken.Sub(n.LeadsSince))
		}
		rows = append(rows, []string{
			shorten(n.Name, 40), n.revision(s.Revision), n.Kubelet, shorten(n.CCM, 18), leads, n.Credentials.text(s.Taken),
		})
	}
	t.table(rows)
	for _, n := range s.Nodes {
		if n.Failure != "" && n.Failed > n.Revision {
			t.wrapped("  ", "    ", fmt.Sprintf("node/%s: revision %d failed: %s", n.Name, n.Failed, n.Failure))
		}
	}
}

func (n Node) revision(wanted int32) string {
	switch {
	case n.Installing != 0:
		return fmt.Sprintf("%d, gets %d", n.Revision, n.Installing)
	case n.Revision != wanted:
		return fmt.Sprintf("%d, %d waits", n.Revision, wanted)
	default:
		return fmt.Sprint(n.Revision)
	}
}

func (c Credentials) text(now time.Time) string {
	if c.SinceRevision == 0 {
		return "-"
	}
	text := fmt.Sprintf("of revision %d", c.SinceRevision)
	if !c.Created.IsZero() {
		text = fmt.Sprintf("%s (%s)", text, humanDuration(now.Sub(c.Created)))
	}
	if c.Outdated {
		text += ", old"
	}
	return text
}

func (t *text) inputs(s *Status) {
	rows := [][]string{{"INPUT", "STATE", "SINCE", "SOURCE"}}
	for _, in := range s.Inputs {
		state := "accepted"
		switch {
		case in.Rejected:
			state = in.state()
		case in.Source == none:
			state = "-"
		}
		// Objects without a namespace are in the operand's.
		source := strings.TrimSuffix(in.Source, " in "+operand.Namespace)
		rows = append(rows, []string{in.Name, state, stamp(in.Since), shorten(source, 56)})
	}
	t.table(rows)
	for _, in := range s.Inputs {
		if in.Rejected {
			t.advice("  ", "    ", fmt.Sprintf("%s: %s: %s", in.Name, reasonAndCode(in.Reason), in.Message))
		}
	}
	if slices.ContainsFunc(s.Inputs, func(in Input) bool { return in.Rejected && in.state() == rejected }) {
		t.wrapped("  ", "    ", "correct it before a downgrade: the former release may not reject it, and would roll it out")
	}
}

func (t *text) expiries(s *Status) {
	rows := [][]string{{"EXPIRES", "IN", "WHAT", "OBJECT"}}
	for _, e := range s.Expiries {
		left := "expired"
		if d := e.At.Sub(s.Taken); d > 0 {
			left = humanDuration(d)
		}
		rows = append(rows, []string{stamp(e.At), left, e.What, shorten(e.Object, 50)})
	}
	t.table(rows)
}

func (t *text) conditions(title string, conditions []Condition) {
	if len(conditions) == 0 {
		return
	}
	t.title(title)
	for i, c := range conditions {
		message := c.Message
		if i > 0 && message != "" && message == conditions[i-1].Message {
			message = "the same"
		}
		reason := ""
		if c.Reason != "" { // a controller of library-go may have no reason
			reason = fmt.Sprintf(" (%s)", reasonAndCode(c.Reason))
		}
		t.advice("  ", "    ", fmt.Sprintf("%s since %s%s: %s", c.Type, stamp(c.Since), reason, message))
	}
}

func (t *text) title(title string) { t.out.WriteString("\n" + title + "\n") }

func (t *text) table(rows [][]string) {
	if len(rows) == 1 {
		return
	}
	t.out.WriteByte('\n')
	var aligned bytes.Buffer
	writer := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = printable.Line(row[i])
		}
		// A buffer takes everything.
		_, _ = fmt.Fprintln(writer, strings.Join(row, "\t"))
	}
	_ = writer.Flush()
	for line := range strings.Lines(aligned.String()) {
		t.line(strings.TrimRight(line, " \n"))
	}
}

func (t *text) line(line string) { t.out.WriteString(shorten(printable.Line(line), Width) + "\n") }

// wrapped writes a text in lines of at most Width columns, the first after first, and the others after indent. It keeps
// the line breaks of the text.
func (t *text) wrapped(first, indent, long string) { t.fill(first, indent, long, strings.Fields) }

// advice is wrapped for a text with an action. A command is not wrapped, because a shell would run a part of it.
func (t *text) advice(first, indent, long string) { t.fill(first, indent, long, words) }

func (t *text) fill(first, indent, long string, words func(string) []string) {
	for paragraph := range strings.SplitSeq(long, "\n") {
		line, isEmpty := first, true
		for _, word := range words(printable.Line(paragraph)) {
			if !isEmpty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > Width {
				t.out.WriteString(line + "\n")
				line, isEmpty = indent, true
			}
			if !isEmpty {
				line += " "
			}
			if !strings.Contains(word, " ") {
				word = shorten(word, Width-len(indent))
			}
			line, isEmpty = line+word, false
		}
		t.out.WriteString(line + "\n")
		first = indent
	}
}

// commands are those of a text that an administrator can paste. They end with the clause.
var commands = regexp.MustCompile(`: oc (?:[^;(]|\$\()*[^;( ]`)

// words splits a printable text at its spaces, except for those in commands.
func words(text string) []string {
	const joint = "\x00" // not printable
	fields := strings.Fields(commands.ReplaceAllStringFunc(text, func(command string) string {
		return ": " + strings.ReplaceAll(command[len(": "):], " ", joint)
	}))
	for i := range fields {
		fields[i] = strings.ReplaceAll(fields[i], joint, " ")
	}
	return fields
}

// Wrapped returns a text in lines of at most Width columns, the first after first, and the others indented as far.
func Wrapped(first, long string) string {
	t := text{}
	t.wrapped(first, strings.Repeat(" ", len(first)), long)
	return t.out.String()
}

// shorten truncates a text in its middle, because the end of a name often distinguishes it.
func shorten(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	head := (width - 1) * 2 / 3
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-1-head):])
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format("2006-01-02T15:04Z")
}

func humanDuration(d time.Duration) string { return duration.HumanDuration(max(0, d)) }

// firstClause is the cause in the message of a condition. Labels in parentheses and quoted errors may contain any text.
var firstClause = regexp.MustCompile(`^(?:[^;("]|;[^ ]|"(?:[^"\\]|\\.)*"|\((?:[^()"]|"(?:[^"\\]|\\.)*")*\))+; `)

// cut returns the message as the cause if it has no action.
func cut(message string) (cause, action string) {
	cause = firstClause.FindString(message)
	if cause == "" {
		return message, ""
	}
	return strings.TrimSuffix(cause, "; "), message[len(cause):]
}
