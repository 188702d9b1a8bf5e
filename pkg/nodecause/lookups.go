package nodecause

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// Lookups are those of one round, in which a CCM looks up the machine of every initialized Node. The first round begins
// as soon as it leads.
type Lookups struct {
	// Ended reports whether the round has ended, Nodes how many Nodes it was about.
	Ended bool
	Nodes int
	// Failed counts the look-ups that failed, and Error is the last error.
	Failed int
	Error  string
}

// The messages of UpdateNodeStatus in k8s.io/cloud-provider/controllers/node/node_controller.go: one for each look-up
// that fails, and one at the end of a round, with -v=2 or more. The round counts also the Nodes that it passes by,
// which have the taint for uninitialized nodes. It names those with -v=5 only.
const (
	lookupFails = "Error getting instance metadata for node addresses: "
	// labelsDenied follows it where Nutanix' provider has looked up a Node and may not label it (pkg/provider/manager.go,
	// getInstanceMetadata), as in a preflight.
	labelsDenied = "error occurred while updating labels on node "
	passesBy     = "This node "
	tainted      = " is still tainted. Will not process."
)

var roundEnds = regexp.MustCompile(`^Update (\d+) nodes status took `)

// FirstLookups returns the look-ups of the first round in the log of a CCM.
func FirstLookups(log string) Lookups {
	var l Lookups
	var logged reasons
	var c connections
	var d discoveries
	passed := 0
	for line := range strings.Lines(log) {
		message, ok := messageOf(line)
		if !ok {
			continue
		}
		if text, fails := c.read(message); fails {
			return Lookups{Ended: true, Nodes: 1, Failed: 1, Error: text}
		}
		logged.note(message)
		d.read(message)
		if l.Ended {
			continue
		}
		if text, failed := strings.CutPrefix(message, lookupFails); failed {
			switch {
			case strings.HasPrefix(text, uncached):
				d.awaited++
			case !strings.HasPrefix(text, labelsDenied):
				l.Failed, l.Error = l.Failed+1, logged.of(text)
			}
		} else if parts := roundEnds.FindStringSubmatch(message); parts != nil {
			l.Ended = true
			l.Nodes, _ = strconv.Atoi(parts[1])
			l.Nodes -= passed
		} else if _, isTainted := between(message, passesBy, tainted); isTainted {
			passed++
		}
	}
	return d.complete(l)
}

// LastLookups returns those of the last round that has ended, and nothing if none has.
func LastLookups(log string) Lookups {
	begin, end, at := 0, 0, 0
	for line := range strings.Lines(log) {
		at += len(line)
		if message, ok := messageOf(line); ok && roundEnds.MatchString(message) {
			begin, end = end, at
		}
	}
	if last := FirstLookups(log[begin:end]); last.Ended {
		return last
	}
	return Lookups{}
}

// vSphere's provider logs each failure to connect (Connect in pkg/common/vclib/connection.go). It begins without
// credentials: a vCenter rejects that, and then it reads them (Connect in pkg/common/connectionmanager).
const connectionFailed = "Failed to create govmomi client. err: "

var credentialsRead = regexp.MustCompile(`^Invalid credentials\. Fetching credentials from secrets\. vcServer=(\S+)`)

// sdkFailed precedes the error of each request that Azure's SDK makes again, for more than a minute: it logs them if
// AZURE_SDK_GO_LOGGING is "all" (runtime/policy_retry.go in azcore).
const sdkFailed = "Retry: error "

// sdkAsks is in what it logs about each request then (runtime/policy_logging.go).
const sdkAsks = "==> OUTGOING REQUEST"

// AsksAzure reports whether a log has a request of Azure's SDK.
func AsksAzure(log string) bool { return strings.Contains(log, sdkAsks) }

// connections are the attempts of a provider to reach its cloud and to log in. vSphere's repeats a login six times for
// each Node, and a vCenter locks an account after five.
type connections struct {
	// unreached counts the requests of Azure's SDK that reached nothing.
	unreached int
	// rejected counts the logins that were rejected, and vCenters are those that it has read credentials for.
	rejected int
	vCenters map[string]bool
}

// read reads a message of the log. It returns the error of a connection that fails whatever the Node is.
func (c *connections) read(message string) (text string, fails bool) {
	if text, failed := strings.CutPrefix(message, sdkFailed); failed {
		class := ClassOf(text)
		if class == Unreachable {
			c.unreached++
		}
		return text, class == Certificate || class == ProxyRefused || c.unreached > 1
	}
	if parts := credentialsRead.FindStringSubmatch(message); parts != nil {
		if c.vCenters == nil {
			c.vCenters = map[string]bool{}
		}
		c.vCenters[parts[1]] = true
		return "", false
	}
	text, failed := strings.CutPrefix(message, connectionFailed)
	if !failed {
		return "", false
	}
	switch ClassOf(text) { //nolint:exhaustive // The others may be transient.
	case Certificate:
		return text, true
	case Unauthenticated:
		c.rejected++
	}
	// One of each vCenter is expected, and another vCenter's credentials may be read next.
	return text, len(c.vCenters) > 0 && c.rejected > len(c.vCenters)+1
}

// vSphere's provider looks Nodes up by itself as soon as its informer has them, and the node controller only gets what
// was found until then: uncached is the error otherwise (InstanceTypeByProviderID in
// pkg/cloudprovider/vsphere/instances.go). The others are in nodemanager.go beside it, found with -v=2 or more.
const (
	uncached        = "cannot find node with providerID "
	discoveryFailed = "error discovering node "
)

var discoveryFound = regexp.MustCompile(`^Found node (\S+) as vm=`)

// discoveries are the look-ups that a provider makes by itself.
type discoveries struct {
	// awaited counts the look-ups of the round that would have needed one.
	awaited int
	// found are the machines, failed counts the failures, and err is the last one.
	found  map[string]bool
	failed int
	err    string
}

func (d *discoveries) read(message string) {
	if parts := discoveryFound.FindStringSubmatch(message); parts != nil {
		if d.found == nil {
			d.found = map[string]bool{}
		}
		d.found[strings.ToLower(parts[1])] = true
	} else if rest, failed := strings.CutPrefix(message, discoveryFailed); failed {
		d.failed++
		_, d.err, _ = strings.Cut(rest, ": ")
	}
}

// complete returns the look-ups of a round together with the discoveries that it did not wait for.
func (d *discoveries) complete(l Lookups) Lookups {
	if d.awaited == 0 {
		return l
	}
	l.Ended = l.Ended && len(d.found)+d.failed >= l.Nodes
	l.Failed += d.failed
	l.Error = cmp.Or(l.Error, d.err)
	return l
}
