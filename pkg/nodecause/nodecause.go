// Package nodecause determines why a node waits for its initialization: one cause, one action. The evidence is whether
// a cloud-controller-manager (CCM) leads, and what the leader's log has about the node. Where that does not suffice,
// the class is Unknown.
package nodecause

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Class is a cause.
type Class int

// The classes.
const (
	Unknown         Class = iota // there is no evidence
	NoLeader                     // no CCM leads
	Deaf                         // the leader looks at no node
	NotAsked                     // the log has nothing about the node
	NoAnswer                     // the CCM has asked the cloud, and has no answer yet
	UnknownMachine               // the cloud does not know the machine
	Ambiguous                    // several machines match
	AddressMismatch              // the node's IP is not among the machine's addresses
	Unauthenticated              // the cloud rejects the credentials
	Unauthorized                 // the credentials lack a permission
	QuotaExceeded                // a quota is exhausted
	Throttled                    // the cloud asks for patience
	Unreachable                  // the cloud's API is not reached
	Unavailable                  // the cloud's API answers with an error of its own
	Certificate                  // the certificate of the cloud's API is not trusted
	Other                        // the CCM logged an error of no other class
)

// String returns the name of the constant.
func (c Class) String() string {
	return [...]string{
		"Unknown", "NoLeader", "Deaf", "NotAsked", "NoAnswer", "UnknownMachine", "Ambiguous", "AddressMismatch",
		"Unauthenticated", "Unauthorized", "QuotaExceeded", "Throttled", "Unreachable", "Unavailable", "Certificate", "Other",
	}[c]
}

// Waiting are the nodes that wait for one cause.
type Waiting struct {
	Cause Class
	Nodes int
	// Since is when the first of them began to wait.
	Since time.Time
}

// Evidence is what is known about a node that waits.
type Evidence struct {
	// Leaderless reports that no CCM leads.
	Leaderless bool
	// Deaf reports that the leader looks at no node.
	Deaf bool
	// Complete reports that everything was read that the leader's process logged, which has led for a while.
	Complete bool
	// Attempt is the leader's last attempt to initialize the node, zero if the log that was read has none.
	Attempt Attempt
}

// Of returns the class of the evidence.
func Of(e Evidence) Class {
	switch {
	case e.Leaderless:
		return NoLeader
	case e.Deaf:
		return Deaf
	case e.Attempt.Error != "":
		return ClassOf(e.Attempt.Error)
	case e.Attempt.Pending:
		return NoAnswer
	case e.Complete && !e.Attempt.Succeeded:
		return NotAsked
	default:
		return Unknown
	}
}

// Machine is what a Node says about its machine.
type Machine struct {
	// ProviderID is empty before the initialization, unless the kubelet set it.
	ProviderID string
	// SystemUUID comes from the machine's firmware. Some CCMs ask their cloud for it.
	SystemUUID string
	// NodeIP is the address that the kubelet was started with, empty if there is none.
	NodeIP string
}

// Describe returns what a Node says of its machine, as far as the class depends on it.
func (c Class) Describe(m Machine) string {
	switch c {
	case UnknownMachine, Ambiguous, NotAsked:
		id := "no providerID"
		if m.ProviderID != "" {
			id = fmt.Sprintf("providerID %q", m.ProviderID)
		}
		return fmt.Sprintf("%s, systemUUID %q", id, m.SystemUUID)
	case AddressMismatch:
		return fmt.Sprintf("node IP %q", m.NodeIP)
	default:
		return ""
	}
}

// Cause returns the cause as a clause, Action what to do about it. Both are empty for Unknown.
func (c Class) Cause() string { return texts[c].cause }

// Action returns what an administrator can do about the cause.
func (c Class) Action() string { return texts[c].action }

var texts = map[Class]struct{ cause, action string }{
	NoLeader: {
		"no cloud-controller-manager of this operator leads",
		"see the condition CloudControllerManagerAvailable",
	},
	Deaf: {
		"the cloud-controller-manager that leads looks at no node",
		"the operator makes another process the leader, see the condition DeafLeaderNotices",
	},
	NotAsked: {
		"the cloud-controller-manager has logged nothing about the node",
		"if no other node is initialized meanwhile, restart the static pod that holds the lease",
	},
	NoAnswer: {
		"the cloud has not answered the cloud-controller-manager yet",
		"check that the cloud's API responds",
	},
	UnknownMachine: {
		"the cloud does not know the machine",
		"check that the project, region or datacenter of the cloud configuration has an instance with this name, " +
			"providerID or systemUUID",
	},
	Ambiguous: {
		"the cloud has several instances that match the node",
		"rename or delete all but one of them",
	},
	AddressMismatch: {
		"the node's IP is not among the addresses that the cloud has for the machine",
		"correct the kubelet's --node-ip, or the instance's addresses",
	},
	Unauthenticated: {
		"the cloud rejects the credentials",
		"replace the credentials",
	},
	Unauthorized: {
		"the credentials lack a permission",
		"permit them to read instances and their networks",
	},
	QuotaExceeded: {
		"a quota of the cloud is exhausted",
		"raise the quota that the error names",
	},
	Throttled: {
		"the cloud throttles requests",
		"find what else calls the cloud's API with this account, or raise the limit",
	},
	Unreachable: {
		"the cloud's API cannot be reached from the control plane",
		"check name resolution, routes, firewalls and the cluster's proxy",
	},
	Unavailable: {
		"the cloud's API answers with a server error",
		"check the state of the cloud's API",
	},
	Certificate: {
		"the certificate of the cloud's API is not trusted",
		"renew it, or add its CA to the cloud configuration's CA bundle or to the trusted CA of Proxy",
	},
	Other: {
		"the cloud-controller-manager got an error",
		"check that the cloud has an instance with the node's name and with the node's addresses, and that the " +
			"credentials may read instances and their networks",
	},
}

// Attempt is an attempt of a CCM to initialize a node.
type Attempt struct {
	// Error is the error with which the last attempt that ended has failed.
	Error string
	// Pending reports that an attempt has begun, and none has failed.
	Pending bool
	// Succeeded reports that the node was initialized.
	Succeeded bool
}

// The messages of k8s.io/cloud-provider/controllers/node/node_controller.go. Every provider's CCM contains it.
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

// OpenStack's provider makes the clients of each attempt anew. If it cannot, it logs why (pkg/openstack/instances.go,
// InstancesV2), and the attempt has an error of k8s.io/cloud-provider that does not say why.
var noClients = []string{"unable to access compute v2 API : ", "unable to access network v2 API : "}

const noInstances = "failed to get instances from cloud provider"

// vSphere's provider has one error for a machine whose addresses it did not get, whatever the vCenter has answered
// (pkg/cloudprovider/vsphere/instances.go). It logs the answer to each look-up before (nodemanager.go, DiscoverNode).
const (
	lookupFailed = "shakeOutNodeIDLookup failed. Err="
	nodeNotFound = "node not found"
)

// reasons are what a provider has logged about errors that do not say why.
type reasons struct{ client, lookup string }

func (r *reasons) note(message string) {
	r.client = cmp.Or(noClient(message), r.client)
	if text, found := strings.CutPrefix(message, lookupFailed); found {
		r.lookup = text
	}
}

// of returns the reason of an error, the error itself if it is known to say more.
func (r *reasons) of(text string) string {
	switch text {
	case noInstances:
		return cmp.Or(r.client, text)
	case nodeNotFound:
		return cmp.Or(r.lookup, text)
	}
	return text
}

// Attempts returns the last attempt for each node in the log of a CCM. A line that is not complete is ignored.
func Attempts(log string) map[string]Attempt {
	attempts := map[string]Attempt{}
	var logged reasons
	for line := range strings.Lines(log) {
		_, message, isKlog := strings.Cut(line, "] ")
		if !isKlog || !strings.HasSuffix(message, "\n") {
			continue
		}
		message = strings.TrimSpace(message)
		logged.note(message)
		if node, text, failed := failure(message); failed {
			attempts[node] = Attempt{Error: logged.of(text)}
		} else if node, is := between(message, begins, withCloud); is {
			if !isUnderWay(attempts) {
				logged.lookup = ""
			}
			// The former error remains the best that is known until this attempt ends.
			attempts[node] = Attempt{Error: attempts[node].Error, Pending: true}
		} else if node, is := between(message, succeeds, withCloud); is {
			attempts[node] = Attempt{Succeeded: true}
		} else if node, is := between(message, skips, becauseOf); is {
			attempts[node] = Attempt{Error: strings.TrimSpace(becauseOf)}
		}
	}
	return attempts
}

// isUnderWay reports whether an attempt has begun that has not ended.
func isUnderWay(attempts map[string]Attempt) bool {
	for _, a := range attempts {
		if a.Pending {
			return true
		}
	}
	return false
}

// failure returns the node and the error of a failed attempt. The controller logs each twice; only this line quotes
// nothing.
func failure(message string) (node, text string, ok bool) {
	rest, ok := strings.CutPrefix(message, fails)
	if !ok {
		return "", "", false
	}
	if node, text, ok = strings.Cut(rest, "': "); !ok {
		return "", "", false
	}
	text = strings.TrimSuffix(text, requeuing)
	text = strings.TrimPrefix(text, metadata+node+": ")
	return node, strings.TrimPrefix(text, modifiers), true
}

func between(message, prefix, suffix string) (string, bool) {
	rest, hasPrefix := strings.CutPrefix(message, prefix)
	node, hasSuffix := strings.CutSuffix(rest, suffix)
	return node, hasPrefix && hasSuffix
}

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

// FirstLookups returns the look-ups of the first round in the log of a CCM. A line that is not complete is ignored.
func FirstLookups(log string) Lookups {
	var l Lookups
	var logged reasons
	var c connections
	var d discoveries
	passed := 0
	for line := range strings.Lines(log) {
		_, message, isKlog := strings.Cut(line, "] ")
		if !isKlog || !strings.HasSuffix(message, "\n") {
			continue
		}
		message = strings.TrimSpace(message)
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
		if _, message, _ := strings.Cut(line, "] "); roundEnds.MatchString(message) {
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
		return text, class == Certificate || c.unreached > 1
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

// read reads a message of the log.
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
