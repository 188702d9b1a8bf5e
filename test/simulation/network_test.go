package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// network is between the API server and its clients.
type network struct {
	world *world

	mutex sync.Mutex
	rng   *rand.Rand
	// isDown has nothing answered to anybody. fails is the share of the operator's requests that fail.
	isDown bool
	fails  float64
	// isForbidden has every request of the operator refused; open watches go on. rightsBack is when that ended.
	isForbidden bool
	rightsBack  time.Time
	// refuses answers a request of the operator: webhooks, quotas, priority and fairness.
	refuses func(r apitest.Request) int
	// slow is the longest time that the API server takes for an answer. throttles is the share of the requests of the
	// operator and its operand that it answers with 429.
	slow      time.Duration
	throttles float64
	// frozen is the user of a process that hangs until thaws: its requests wait.
	frozen string
	thaws  time.Time
	// lag is how late events of a resource reach the watches of the operator.
	lag map[string]time.Duration
	// refused and failed count what the faults have done.
	refused, failed, late int
}

func newNetwork(w *world, seed uint64) *network {
	return &network{world: w, rng: rand.New(rand.NewPCG(seed, 2)), lag: map[string]time.Duration{}}
}

var (
	errRefused = errors.New("dial tcp 192.0.2.10:6443: connect: connection refused")
	errLost    = errors.New("http2: client connection lost")
)

// Pass implements apitest.Network.
func (n *network) Pass(user string, r apitest.Request) (p apitest.Passage) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	p.Before = time.Duration(1+n.rng.IntN(10)) * time.Millisecond
	p.After = time.Duration(n.rng.IntN(5)) * time.Millisecond
	if n.slow > 0 { // Without a draw, the recorded seeds keep their numbers.
		p.Before += time.Duration(n.rng.Int64N(int64(n.slow)))
	}
	switch {
	case user == n.frozen && time.Now().Before(n.thaws):
		n.late++
		p.Before = time.Until(n.thaws)
		return p
	case n.isDown:
		n.failed++
		p.Error = errRefused
		return p
	case n.throttles > 0 && strings.HasPrefix(user, serviceAccount) && n.rng.Float64() < n.throttles:
		n.refused++
		p.Code = http.StatusTooManyRequests
		return p
	case !isOperator(user):
		return p
	case n.isForbidden:
		n.refused++
		p.Code = http.StatusForbidden
		return p
	}
	if n.refuses != nil {
		if p.Code = n.refuses(r); p.Code != 0 {
			n.refused++
			return p
		}
	}
	if n.fails > 0 && n.rng.Float64() < n.fails {
		n.failed++
		n.fail(&p, r)
	}
	return p
}

// fail chooses how a request fails. It requires the mutex.
func (n *network) fail(p *apitest.Passage, r apitest.Request) {
	switch n.rng.IntN(6) {
	case 0:
		p.Code = http.StatusInternalServerError
	case 1:
		p.Code = http.StatusTooManyRequests
	case 2:
		p.Code = http.StatusGatewayTimeout
		if r.Verb == "update" || r.Verb == "patch" {
			p.Code = http.StatusConflict
		}
	case 3:
		p.Error = errRefused
	case 4:
		p.Lost = errLost
	case 5:
		p.After += time.Duration(1+n.rng.IntN(30)) * time.Second
	}
}

// machineNetwork is the network of what runs on a machine.
type machineNetwork struct {
	*network
	m *machine
}

// Pass implements apitest.Network.
func (n machineNetwork) Pass(user string, r apitest.Request) apitest.Passage {
	if locked(&n.m.mutex, func() bool { return n.m.isCut }) {
		return apitest.Passage{Before: 10 * time.Second, Error: errNoHost}
	}
	return n.network.Pass(user, r)
}

// Delay implements apitest.Network.
func (n *network) Delay(user string, resource schema.GroupVersionResource) time.Duration {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	d := time.Duration(1+n.rng.IntN(15)) * time.Millisecond
	if isOperator(user) && n.lag[resource.Resource] > 0 {
		n.late++
		d += n.lag[resource.Resource]
	}
	return d
}

func isOperator(user string) bool { return strings.HasPrefix(user, operatorUser) }

const operatorUser = "system:serviceaccount:" + operatorclient.OperatorNamespace + ":cluster-cloud-controller-manager"

func (n *network) down() bool { return locked(&n.mutex, func() bool { return n.isDown }) }

// set changes the network.
func (n *network) set(change func()) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	change()
}

// forbid takes the operator's rights away, or gives them back.
func (n *network) forbid(is bool) {
	n.world.note("FAULT the operator's rights are away: %v", is)
	n.set(func() {
		n.isForbidden = is
		if !is {
			n.rightsBack = time.Now()
		}
	})
}

// cloud is what the CCMs ask.
type cloud struct {
	mutex sync.Mutex
	// fails is the error in each answer, nil if the cloud works. denies reports whether it knows no machine.
	fails  error
	denies bool
	// takes is how long each answer takes.
	takes time.Duration
	// valid are the passwords that it accepts, nil for all.
	valid map[string]bool
	// asked counts the requests that a fault has changed.
	asked int
	// logins counts the logins by password.
	logins map[string]int
}

// The answers of a cloud.
var (
	errNoInstance = errors.New("instance not found")

	// gophercloud's words, once it has tried again.
	errThrottled = errors.New("Expected HTTP response code [200 204] when accessing [GET " + //nolint:staticcheck // See above.
		"https://nova.example.com:8774/v2.1/servers/detail], but got 429 instead: Too Many Requests")

	errDown        = errors.New("dial tcp 192.0.2.1:8774: connect: connection refused")
	errUnavailable = errors.New("Expected HTTP response code [200 204] when accessing [GET " + //nolint:staticcheck // As above.
		"https://nova.example.com:8774/v2.1/servers/detail], but got 503 instead: Service Unavailable")
	errUnresolved = errors.New("dial tcp: lookup keystone.example.com on 10.0.0.2:53: no such host")
	errExpired    = errors.New("tls: failed to verify certificate: x509: certificate has expired or is not yet valid")

	errReject = errors.New("Authentication failed") //nolint:staticcheck // Keystone's words.
	//nolint:staticcheck // gophercloud's words.
	err401 = errors.New("Expected HTTP response code [200 201 202 204 300] when accessing " +
		"[POST https://keystone.example.com:5000/v3/auth/tokens], but got 401 instead: Authentication failed")
)

// set changes the cloud.
func (c *cloud) set(change func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	change()
}

// accept makes the cloud accept these passwords only.
func (c *cloud) accept(passwords ...int) {
	c.set(func() {
		c.valid = map[string]bool{}
		for _, n := range passwords {
			c.valid[password(n)] = true
		}
	})
}

// accepts reports whether the cloud accepts a password and answers.
func (c *cloud) accepts(password string) bool {
	return locked(&c.mutex, func() bool {
		return c.fails == nil && (c.valid == nil || c.valid[password])
	})
}

// tooSlow is a cloud that nobody waits for: looking up five machines takes minutes.
const tooSlow = 30 * time.Second

// isWell reports whether the cloud answers whoever has valid credentials.
func (c *cloud) isWell() bool {
	return locked(&c.mutex, func() bool { return c.fails == nil && !c.denies && c.takes < tooSlow })
}

// wait takes as long as an answer.
func (c *cloud) wait(ctx context.Context) {
	pause(ctx, locked(&c.mutex, func() time.Duration {
		if c.takes > 0 {
			c.asked++
		}
		return c.takes
	}))
}

// login returns why a login fails.
func (c *cloud) login(password string) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.logins == nil {
		c.logins = map[string]int{}
	}
	c.logins[password]++
	switch {
	case c.fails != nil:
		c.asked++
		return c.fails
	case c.valid != nil && !c.valid[password]:
		c.asked++
		return err401
	}
	return nil
}

// finds returns why it does not find a machine.
func (c *cloud) finds(password string, m *machine) error {
	if err := c.login(password); err != nil {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.denies {
		c.asked++
	}
	if m == nil || !m.exists || c.denies {
		return errNoInstance
	}
	return nil
}
