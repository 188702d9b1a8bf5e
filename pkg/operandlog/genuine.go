package operandlog

import (
	"regexp"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The headers of log lines: klog's, with the severity, and that of Azure's SDK. Both contain the container's local
// time in microseconds. That is UTC, unless an administrator sets another zone for a custom cloud-controller-manager.
var headers = sync.OnceValue(func() []header {
	return []header{
		{regexp.MustCompile(`^([IWEF])(\d{4} \d{2}:\d{2}:\d{2}\.\d{6}) +\d+ [^\s\]]+:\d+\] ?`), "0102 15:04:05.000000"},
		{regexp.MustCompile(`^()\[([A-Z][a-z]{2} +\d+ \d{2}:\d{2}:\d{2}\.\d{6})\] `), time.StampMicro},
	}
})

type header struct {
	pattern *regexp.Regexp
	layout  string
}

// Header is the header of a log line.
type Header struct {
	// Severity is I, W, E or F as in klog, and empty in the header of Azure's SDK.
	Severity string
	// At is the time in the header. klog's has no year.
	At time.Time
}

// CutHeader returns the header of a line, and the rest of the line. ok is false for a line without a header.
func CutHeader(line string) (h Header, message string, ok bool) {
	for _, kind := range headers() {
		if found := kind.pattern.FindStringSubmatchIndex(line); found != nil {
			at, _ := time.Parse(kind.layout, line[found[4]:found[5]])
			return Header{line[found[2]:found[3]], at}, line[found[1]:], true
		}
	}
	return Header{}, "", false
}

// Genuine removes the kubelet's timestamps from a log, and the lines that are only part of a value. Providers log with
// %v what tenants, kubelets and clouds write, such as annotations, and klog keeps the line breaks, so a value can
// contain lines that look like the log's own. The container runtime stamps each line when it reads it, so a header
// whose time was chosen when the value was written does not fit.
//
// Lines of a value without a header remain, because they may belong to an error. Only what follows the last header can
// be the last words of a process; see package terminationmessage.
//
// A log that is not complete may start within a value.
//
// A tenant who guesses the millisecond can still forge a line: an action because of a log needs a second source too.
func Genuine(stamped string, isComplete bool) string {
	var genuine strings.Builder
	var c chronology
	isForged := !isComplete
	if begin, _, ok := cutStamp(stamped); ok && !isComplete {
		c = chronology{written: begin, stamp: begin, misfit: begin}
	}
	for line := range strings.Lines(stamped) {
		stamp, text, ok := cutStamp(line)
		if !ok && c.stamp.IsZero() {
			return stamped // the server does not stamp lines; a value cannot be the first line of a log
		}
		if h, _, isHeader := CutHeader(text); isHeader {
			isForged = !c.fits(h.Near(stamp), stamp)
		} else if ok {
			c.written = later(c.written, stamp.Add(-c.lag))
		}
		if ok && !isForged {
			genuine.WriteString(text)
		}
	}
	return genuine.String()
}

// slack is how long the kubelet's times may be off: a busy runtime notes a start late, and after its fatal line a
// process flushes klog's log for up to ten seconds.
const slack = 10 * time.Second

// OfRun returns a termination message without the lines that are only part of a value. The kubelet takes the message
// from the end of the log, without its timestamps. log is that log as Genuine returns it, "" if it was not read.
//
// If the log has none of the message's headers, it is another process's. Then OfRun recognizes fewer of them: a
// header whose time is not within the run, and that of a fatal line unless the process ended then. If no time is, the
// container may have another time zone.
func OfRun(run *corev1.ContainerStateTerminated, log string) string {
	if own := logged(run.Message, log); strings.TrimSpace(own) != "" {
		return own
	}
	if run.StartedAt.IsZero() || run.FinishedAt.Before(&run.StartedAt) {
		return run.Message // The times are not known, or the clock was set back.
	}
	own, last, isAny := linesWithin(run, 0)
	if !isAny {
		// A tenant who can write all headers of a message has no use for another time zone.
		own, _, _ = linesWithin(run, zoneOf(run.FinishedAt.Sub(last)))
	}
	return own
}

// linesWithin returns the lines of a termination message that are within the run, if the container's clock is behind
// UTC by that much. last is the time in the last header, and isAny whether any header is within the run.
func linesWithin(run *corev1.ContainerStateTerminated, zone time.Duration) (own string, last time.Time, isAny bool) {
	begin, end := run.StartedAt.Add(-slack), run.FinishedAt.Add(time.Second) // these times have no fractions of a second
	isForged := false
	for line := range strings.Lines(run.Message) {
		if h, _, isHeader := CutHeader(line); isHeader {
			last = h.Near(end)
			at := last.Add(zone)
			isForged = at.Before(begin) || at.After(end) || h.Severity == "F" && end.Sub(at) > slack+time.Second
			isAny = isAny || !isForged
		}
		if !isForged {
			own += line
		}
	}
	return own, last, isAny
}

// zoneOf returns how much a container's clock is behind UTC if a header is that much behind its time: a time zone is at
// most 14 hours and a multiple of a quarter of an hour away.
func zoneOf(lag time.Duration) time.Duration {
	if zone := lag.Round(15 * time.Minute); zone.Abs() <= 14*time.Hour {
		return zone
	}
	return 0
}

// logged returns the lines of a termination message that are in the log, "" if that is another process's: it has the
// same flags and stacks, and no header with the same time.
func logged(message, log string) (own string) {
	hasHeader, isSame := false, false
	begin := "" // The first line of a message may be cut.
	for line := range strings.Lines(message) {
		_, _, isHeader := CutHeader(line)
		hasHeader = hasHeader || isHeader
		if strings.Contains("\n"+log+"\n", begin+strings.TrimSuffix(line, "\n")+"\n") {
			own += line
			isSame = isSame || isHeader
		}
		begin = "\n"
	}
	if hasHeader && !isSame {
		return ""
	}
	return own
}

func cutStamp(line string) (stamp time.Time, text string, ok bool) {
	before, text, found := strings.Cut(line, " ")
	stamp, err := time.Parse(time.RFC3339Nano, before)
	return stamp.UTC(), text, found && err == nil
}

const (
	// maxLag is how long a container runtime may take to read a line.
	maxLag = 2 * time.Second

	// maxSkew is how much headers may be out of order: klog takes the time before its lock. The runtime may also read the
	// other lines of a value this much later than the header.
	maxSkew = time.Millisecond

	// quarantine is how long after a header that does not fit no other header is believed. A value may contain one header
	// for each millisecond, and the lines of one write are read within microseconds of each other.
	quarantine = 10 * time.Millisecond
)

// chronology is what the lines so far show about the next one.
type chronology struct {
	// written is when the last line was written: the time of its header or, without a header, when it was read minus lag.
	// stamp is when the last header was read. lag is how long after it was written the last fitting header was read.
	written, stamp time.Time
	lag            time.Duration
	// misfit is when the last header that does not fit was read.
	misfit time.Time
}

// fits reports whether a header was written when it says: not after it was read, and not before the preceding header.
func (c *chronology) fits(at, stamp time.Time) bool {
	if c.stamp.Sub(stamp) > maxLag {
		*c = chronology{} // the node's clock was set back
	}
	c.stamp = stamp
	switch lag := stamp.Sub(at); {
	case lag < 0 || lag > maxLag || at.Before(c.written.Add(-maxSkew)):
		c.misfit = stamp
		return false
	case stamp.Sub(c.misfit) < quarantine:
		return false
	}
	c.written, c.lag = later(c.written, at), stamp.Sub(at)
	return true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Near returns the header's time in the year that is nearest to the given time.
func (h Header) Near(near time.Time) time.Time {
	at := h.At.AddDate(near.Year()-h.At.Year(), 0, 0)
	const half = 183 * 24 * time.Hour
	switch {
	case at.Sub(near) > half:
		return at.AddDate(-1, 0, 0)
	case near.Sub(at) > half:
		return at.AddDate(1, 0, 0)
	}
	return at
}
