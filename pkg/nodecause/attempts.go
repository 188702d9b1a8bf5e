package nodecause

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
)

// Attempt is a CCM's attempt to initialize a node.
type Attempt struct {
	// Error is the error of the last attempt that failed.
	Error string
	// Pending means that an attempt has started and has not ended.
	Pending   bool
	Succeeded bool
	// Overtaken means that the last attempt failed, and that its error no longer applies.
	Overtaken bool
}

// The messages of k8s.io/cloud-provider/controllers/node/node_controller.go, which every provider's CCM contains.
const (
	begins   = "Initializing node "
	succeeds = "Successfully initialized node "
	skips    = "Skip sync node "
	fails    = "error syncing '"

	withCloud = " with cloud provider"
	becauseOf = " because cloud provided nil metadata"
	requeuing = ", requeuing"
	metadata  = "failed to get instance metadata for node "
	modifiers = "failed to get node modifiers from cloud provider: "
)

// OpenStack's provider creates the clients of each attempt anew. If that fails, it logs the reason
// (pkg/openstack/instances.go, InstancesV2), and the attempt's error lacks it.
var noClients = []string{"unable to access compute v2 API : ", "unable to access network v2 API : "}

const noInstances = "failed to get instances from cloud provider"

// vSphere's provider has one error for a machine whose addresses it did not get, regardless of the vCenter's answer
// (pkg/cloudprovider/vsphere/instances.go). It logs the answer to each lookup before (nodemanager.go, DiscoverNode), or
// that the machine has another host name than the node. A lookup without an ID is of a Node that does not wait.
const (
	lookupFailed  = "shakeOutNodeIDLookup failed. Err="
	lookupWithout = "nodeID is empty"
	otherHostName = "DiscoverNode succeeded, but CACHE missed for node="
	nodeNotFound  = "node not found"
)

type reasons struct {
	client, lookup string
	// discovered are the errors of vSphere's own lookups, by node.
	discovered map[string]string
}

func (r *reasons) note(message string) {
	r.client = cmp.Or(noClient(message), r.client)
	if text, found := strings.CutPrefix(message, lookupFailed); found && text != lookupWithout {
		r.lookup = text
	} else if strings.HasPrefix(message, otherHostName) {
		r.lookup = message
	}
}

// noteDiscovery notes why vSphere's provider has not found a node before the node controller asks for it.
func (r *reasons) noteDiscovery(message string) {
	if rest, failed := strings.CutPrefix(message, discoveryFailed); failed {
		node, text, _ := strings.Cut(rest, ": ")
		if r.discovered == nil {
			r.discovered = map[string]string{}
		}
		r.discovered[node] = text
	}
}

// of returns the logged reason of an error that has none, otherwise the error itself.
func (r *reasons) of(node, text string) string {
	if strings.HasPrefix(text, uncached) {
		return cmp.Or(r.discovered[node], text)
	}
	switch text {
	case noInstances:
		return cmp.Or(r.client, text)
	case nodeNotFound:
		return cmp.Or(r.lookup, text)
	}
	return text
}

// messageOf returns the message of a log line without its header. ok is false for an incomplete line, and for a line
// without a header: it belongs to a value, such as an error that quotes a tenant.
func messageOf(line string) (message string, ok bool) {
	_, message, ok = operandlog.CutHeader(line)
	return strings.TrimSpace(message), ok && strings.HasSuffix(line, "\n")
}

// Alibaba Cloud's provider has its own node controller (pkg/controller/node/node_controller.go), which logs with klogr.
// It also reports nodes as initialized that it skipped. If it cannot look up a batch, it logs the names of all its
// nodes once, and does not retry before its next pass.
var (
	alibabaFails = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`^node-controller "msg"=("(?:[^"\\]|\\.)*") "error"=(null|"(?:[^"\\]|\\.)*") ` +
				`(?:"node"="([^"]+)"|"names"=\["([a-z0-9.",-]+)"\]$)`)
	})
	alibabaMisses = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^node-controller "msg"="(cloud node not found by prvdId), [^"]*" "node"="([^"]+)" ` +
			`"prvdId"=("[^"]*")$`)
	})
)

// alibabaDetails are the lines of an error of Alibaba Cloud's SDK that do not explain its cause
// (sdk/errors/server_error.go).
var alibabaDetails = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\n(?:Recommend|RequestId|RespHeaders):[^\n]*`)
})

func alibabaFailure(message string) (nodes []string, text string, ok bool) {
	if parts := alibabaMisses().FindStringSubmatch(message); parts != nil {
		return parts[2:3], parts[1] + " " + parts[3], true
	}
	parts := alibabaFails().FindStringSubmatch(message)
	if parts == nil {
		return nil, "", false
	}
	text, err := strconv.Unquote(parts[1])
	if err != nil {
		return nil, "", false
	}
	if cause, err := strconv.Unquote(parts[2]); err == nil {
		text += ": " + strings.ReplaceAll(alibabaDetails().ReplaceAllString(cause, ""), "\n", ", ")
	}
	return strings.Split(parts[3]+parts[4], `","`), text, true
}

// Attempts returns the last attempt for each node in the log of a CCM.
func Attempts(log string) map[string]Attempt { return attemptsIn(log, nil) }

// PresentAttempts returns the attempts from which a person learns the cause, and on which nothing acts: with all lines
// of an error, without what the log has about a former Node of the name, and without an error that is overtaken.
// created are the times at which the Nodes began to wait.
func PresentAttempts(log string, now time.Time, created map[string]time.Time) map[string]Attempt {
	return attemptsIn(log, &present{now, created})
}

func attemptsIn(log string, p *present) map[string]Attempt {
	attempts := map[string]Attempt{}
	var logged reasons
	for line := range strings.Lines(log) {
		log = log[len(line):]
		message, ok := messageOf(line)
		if !ok {
			continue
		}
		logged.note(message)
		if p != nil {
			logged.noteDiscovery(message)
			message = whole(message, log)
		}
		nodes, found := attemptOf(message)
		switch {
		case found.Pending && !isUnderWay(attempts):
			logged.lookup = ""
		case found.Succeeded:
			p.overtake(attempts)
		}
		for _, node := range nodes {
			attempt := found
			switch {
			case p.isOld(node, line):
				continue
			case !found.Pending:
				attempt.Error = logged.of(node, found.Error)
			case !p.hangs(line):
				attempt.Error = attempts[node].Error // It remains the best known reason until this attempt ends.
			}
			attempts[node] = attempt
		}
	}
	return attempts
}

// attemptOf returns what a message says about an attempt, and for which nodes.
func attemptOf(message string) (nodes []string, attempt Attempt) {
	if nodes, text, failed := failure(message); failed {
		return nodes, Attempt{Error: text}
	}
	for _, m := range []struct {
		prefix, suffix string
		attempt        Attempt
	}{
		{begins, withCloud, Attempt{Pending: true}},
		{succeeds, withCloud, Attempt{Succeeded: true}},
		{skips, becauseOf, Attempt{Error: strings.TrimSpace(becauseOf)}},
	} {
		if node, is := between(message, m.prefix, m.suffix); is {
			return []string{node}, m.attempt
		}
	}
	return nil, Attempt{}
}

const (
	// hanging is longer than a cloud that responds needs for an attempt.
	hanging = 2 * time.Minute
	// maxSkew is how much earlier than the API server's the clock of the leader's node may be.
	maxSkew = 5 * time.Minute
	// maxError limits an error of several lines.
	maxError = 8 << 10
)

// present has the times by which a line of a log is about the present state. Nil takes every line for present.
type present struct {
	now     time.Time
	created map[string]time.Time
}

func (p *present) at(line string) time.Time {
	header, _, _ := operandlog.CutHeader(line)
	return header.Near(p.now)
}

func (p *present) isOld(node, line string) bool {
	return p != nil && p.at(line).Before(p.created[node].Add(-maxSkew))
}

func (p *present) hangs(line string) bool { return p != nil && p.now.Sub(p.at(line)) > hanging }

// ofLogin are the classes of errors that no node gets while another one is initialized with the same login.
var ofLogin = []Class{
	Unauthenticated, NoIdentityProvider, NotTrusted, NoToken, NoCredentials, NoRegion, WrongClock, Certificate,
	ProxyRefused,
}

// overtake drops the errors of the login when a node was initialized: the cause is not known before the next attempts.
func (p *present) overtake(attempts map[string]Attempt) {
	for node, attempt := range attempts {
		if p != nil && attempt.Error != "" && slices.Contains(ofLogin, ClassOf(attempt.Error)) {
			attempts[node] = Attempt{Overtaken: true}
		}
	}
}

// whole returns the message of a failed attempt with its other lines, which have no header: Genuine leaves none that
// follows a forged header.
func whole(message, rest string) string {
	if !strings.HasPrefix(message, fails) || strings.HasSuffix(message, requeuing) {
		return message
	}
	joined := message
	for line := range strings.Lines(rest) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		_, _, isHeader := operandlog.CutHeader(line)
		if isHeader || !strings.HasSuffix(line, "\n") || len(joined) > maxError {
			break
		}
		joined = strings.TrimSuffix(joined+" "+strings.TrimSpace(line), " ")
		if text, isEnd := strings.CutSuffix(joined, requeuing); isEnd {
			return strings.TrimSpace(text) + requeuing
		}
	}
	return message
}

func isUnderWay(attempts map[string]Attempt) bool {
	for _, a := range attempts {
		if a.Pending {
			return true
		}
	}
	return false
}

// failure returns the nodes and the error of a failed attempt. Of the two lines for a failure, this quotes nothing.
func failure(message string) (nodes []string, text string, ok bool) {
	rest, ok := strings.CutPrefix(message, fails)
	if !ok {
		return alibabaFailure(message)
	}
	node, text, ok := strings.Cut(rest, "': ")
	if !ok {
		return nil, "", false
	}
	text = strings.TrimSuffix(text, requeuing)
	text = strings.TrimPrefix(text, metadata+node+": ")
	return []string{node}, strings.TrimPrefix(text, modifiers), true
}

// The messages of k8s.io/cloud-provider/controllers/nodelifecycle for a silent Node that it does not delete.
const (
	existenceUnknown = "error checking if node %s exists: "
	shutdownUnknown  = "error checking if node %s is shutdown: "
	deletionDenied   = "unable to delete node %q: "
)

// DeletionError returns the last error since then with which the cloud answered whether the machine of a silent Node
// exists, "" if there is none.
func DeletionError(log, node string, since time.Time) string {
	return lastError(log, since, fmt.Sprintf(existenceUnknown, node), fmt.Sprintf(shutdownUnknown, node))
}

// DeletionDenied returns the last error since then with which the API server did not delete a Node for the CCM, "" if
// there is none. The operator's own policy denies each deletion until the operator confirms it.
func DeletionDenied(log, node string, since time.Time) string {
	text := lastError(log, since, fmt.Sprintf(deletionDenied, node))
	if strings.Contains(text, "ValidatingAdmissionPolicy") {
		return ""
	}
	return text
}

func lastError(log string, since time.Time, prefixes ...string) (text string) {
	for line := range strings.Lines(log) {
		message, ok := messageOf(line)
		if header, _, _ := operandlog.CutHeader(line); !ok || header.Near(since).Before(since) {
			continue
		}
		for _, prefix := range prefixes {
			if found, is := strings.CutPrefix(message, prefix); is {
				text = found
			}
		}
	}
	return text
}

func between(message, prefix, suffix string) (string, bool) {
	rest, hasPrefix := strings.CutPrefix(message, prefix)
	node, hasSuffix := strings.CutSuffix(rest, suffix)
	return node, hasPrefix && hasSuffix
}
