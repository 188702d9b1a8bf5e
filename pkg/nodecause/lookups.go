package nodecause

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// Lookups are the lookups of one round, in which a CCM looks up the machine of every initialized Node. The first round
// starts as soon as the CCM leads.
type Lookups struct {
	// Ended reports whether the round has ended, and Nodes is its number of Nodes.
	Ended bool
	Nodes int
	// Failed counts the failed lookups, and Error is the last error.
	Failed int
	Error  string
}

// The messages of UpdateNodeStatus in k8s.io/cloud-provider/controllers/node/node_controller.go: one for each failed
// lookup, and, with -v=2 or more, one at the end of a round. The count of the round includes the Nodes that it skips
// because of the taint for uninitialized nodes. It names those with -v=5 only.
const (
	lookupFails = "Error getting instance metadata for node addresses: "
	// labelsDenied follows if Nutanix' provider has looked up a Node but may not label it, as in a preflight
	// (pkg/provider/manager.go, getInstanceMetadata).
	labelsDenied = "error occurred while updating labels on node "
	passesBy     = "This node "
	tainted      = " is still tainted. Will not process."
)

var roundEnds = regexp.MustCompile(`^Update (\d+) nodes status took `)

// FirstLookups returns the lookups of the first round in the log of a CCM. If a connection fails for every Node, it
// returns a single failed lookup instead.
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
				l.Failed, l.Error = l.Failed+1, logged.of("", text)
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

// LastLookups returns the lookups of the last round that has ended, or a zero value.
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

// vSphere's provider logs each failure to connect (Connect in pkg/common/vclib/connection.go). It first connects
// without credentials, which a vCenter rejects, and then reads them (Connect in pkg/common/connectionmanager).
const connectionFailed = "Failed to create govmomi client. err: "

var credentialsRead = regexp.MustCompile(`^Invalid credentials\. Fetching credentials from secrets\. vcServer=(\S+)`)

// sdkFailed precedes the error of each request that Azure's SDK retries, for more than a minute. The SDK logs these
// errors if AZURE_SDK_GO_LOGGING is "all" (runtime/policy_retry.go in azcore).
const sdkFailed = "Retry: error "

// sdkAsks is in the SDK's log of each request (runtime/policy_logging.go).
const sdkAsks = "==> OUTGOING REQUEST"

// AsksAzure reports whether a log contains a request of Azure's SDK.
func AsksAzure(log string) bool { return strings.Contains(log, sdkAsks) }

// connections are a provider's attempts to reach its cloud and to log in. vSphere's provider repeats a login six times
// for each Node, and a vCenter locks an account after five.
type connections struct {
	// unreached counts the requests of Azure's SDK that did not reach the cloud.
	unreached int
	// rejected counts the rejected logins. vCenters are those whose credentials the provider has read.
	rejected int
	vCenters map[string]bool
}

// read reads a message of the log. It returns the error of a connection that fails for every Node.
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
	// One rejection for each vCenter is expected, and another vCenter's credentials may be read next.
	return text, len(c.vCenters) > 0 && c.rejected > len(c.vCenters)+1
}

// vSphere's provider looks up Nodes by itself as soon as its informer has them, and the node controller gets only what
// was found until then. Otherwise the error is uncached (InstanceTypeByProviderID in
// pkg/cloudprovider/vsphere/instances.go). The other messages are in nodemanager.go beside it, discoveryFound with
// -v=2.
const (
	uncached        = "cannot find node with providerID "
	discoveryFailed = "error discovering node "
)

var discoveryFound = regexp.MustCompile(`^Found node (\S+) as vm=`)

// discoveries are the lookups that a provider makes by itself.
type discoveries struct {
	// awaited counts the lookups of the round that needed a missing discovery.
	awaited int
	// found are the machines, failed counts the failures, and err is the last error.
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

// complete adds the discoveries to the lookups of a round that did not wait for them.
func (d *discoveries) complete(l Lookups) Lookups {
	if d.awaited == 0 {
		return l
	}
	l.Ended = l.Ended && len(d.found)+d.failed >= l.Nodes
	l.Failed += d.failed
	l.Error = cmp.Or(l.Error, d.err)
	return l
}
