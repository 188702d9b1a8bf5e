package nodedeletion

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

const (
	// answerLimit is how long a CCM may take for the next answer, unless it is known to need longer; one second was
	// measured. After each miss the next probe waits twice as long, up to slowLimit, to measure a slow cloud.
	answerLimit = 15 * time.Second
	slowLimit   = time.Minute
	// probeLimit is how long a probe may take with a CCM that is known to be slow.
	probeLimit = 10 * time.Minute
	// missLimit is how many probes in a row must miss references until the cloud counts as not finding living machines.
	missLimit = 2

	// probeAgain is the time between two probes, probeMissed after the first miss, and probeNew if there are new targets.
	probeAgain  = 30 * time.Second
	probeMissed = 10 * time.Second
	probeNew    = 5 * time.Second

	// A probe has at least referencesPerProbe, if they exist, and one for each zone of the targets. It has at least
	// targetsPerProbe, and once the CCM's time for a look-up is known, up to 1/targetShare of all Nodes, as many as the
	// CCM can look up within targetPeriod. After a miss, it has one target.
	referencesPerProbe = 3
	targetsPerProbe    = 10
	targetShare        = 100
	targetPeriod       = 30 * time.Second
)

// probe makes a leader look for targets, which it wants to delete, and references, which live. A CCM looks in the order
// of the taints, and targets get theirs first: once it has found the references, it has looked for the targets.
type probe struct {
	leader              string
	targets, references []types.UID
	// nodes are the targets and the references, written their versions with the taint, and found those that have lost it.
	nodes   map[types.UID]bool
	written map[types.UID]string
	found   map[types.UID]bool
	// began is when the probe started, lastTaint when a taint was last written, and progress when the CCM last succeeded.
	began, lastTaint, progress time.Time
	// queue is how many Nodes wait for their initialization, and initialQueue how many did when the probe started.
	queue, initialQueue int
	// limit is how long the CCM may make no progress. fastest and slowest are how long it took to find references.
	limit, fastest, slowest time.Duration
}

// probeHistory is what the controller learned from probes.
type probeHistory struct {
	// misses is how many probes in a row missed references. The last of them missed unanswered within waited.
	misses     int
	unanswered []string
	waited     time.Duration
	ended      time.Time
	// lookup is how long the leader takes for a machine, 0 if it is not known.
	lookup time.Duration
	// rotation selects other references for each probe.
	rotation int
}

// includes reports whether the probe is about a Node. A nil probe is about none.
func (p *probe) includes(uid types.UID) bool { return p != nil && p.nodes[uid] }

func (p *probe) lacksTaint(n *node) bool {
	return p.includes(n.uid) && !n.hasTaint && p.written[n.uid] == ""
}

// isFound reports whether the CCM found the machine: the taint was written and removed. A stale cache has none either.
func (p *probe) isFound(n *node) bool {
	return p.written[n.uid] != "" && !n.hasTaint && isLater(n.version, p.written[n.uid])
}

// startProbe starts a probe if one is due, and if no Node has a taint of an earlier one. Otherwise, a cache that is
// behind would show the operator's removal of that taint as the CCM's answer.
func (m *memory) startProbe(o *observation) {
	isTainted := func(n *node) bool { return n.hasTaint }
	if !o.canProbe || o.leader == "" || m.probe != nil || slices.ContainsFunc(o.nodes, isTainted) {
		return
	}
	targets := m.due(o)
	if len(targets) == 0 || o.now.Sub(m.ended) < m.pause(targets) {
		return
	}
	targets = targets[:min(len(targets), m.targetCount(o))]
	p := &probe{
		leader: o.leader, nodes: map[types.UID]bool{}, written: map[types.UID]string{}, found: map[types.UID]bool{},
		began: o.now, lastTaint: o.now, progress: o.now, queue: o.queue, initialQueue: o.queue,
	}
	for _, n := range targets {
		p.targets, p.nodes[n.uid] = append(p.targets, n.uid), true
		n.record.probed = o.now
	}
	for _, n := range o.pickReferences(m.rotation, targets) {
		p.references, p.nodes[n.uid] = append(p.references, n.uid), true
		if o.byUID[n.uid] == nil {
			o.nodes, o.byUID[n.uid] = append(o.nodes, n), n
		}
	}
	needs := 2 * m.lookup.Nanoseconds() * int64(len(p.targets)+len(p.references)+p.initialQueue)
	p.limit = min(probeLimit, max(min(slowLimit, answerLimit<<min(m.misses, missLimit)), time.Duration(needs)))
	m.rotation++
	m.probe = p
}

// due returns the targets of the next probe, least recently probed first. All have one scheme of provider IDs.
func (m *memory) due(o *observation) []*node {
	var due []*node
	for _, n := range o.nodes {
		r := n.record
		if r != nil && r.isOpen() && (r.state != confirmed || o.now.Sub(r.probed) >= confirmationLife) {
			due = append(due, n)
		}
	}
	slices.SortStableFunc(due, func(a, b *node) int { return a.record.probed.Compare(b.record.probed) })
	return slices.DeleteFunc(due, func(n *node) bool { return n.scheme != due[0].scheme })
}

func (m *memory) pause(targets []*node) time.Duration {
	switch {
	case m.misses == 1:
		return probeMissed
	case m.misses == 0 && targets[0].record.probed.IsZero():
		return probeNew
	default:
		return probeAgain
	}
}

func (m *memory) targetCount(o *observation) int {
	switch {
	case m.misses > 0:
		return 1
	case m.lookup == 0:
		return targetsPerProbe
	default:
		return max(targetsPerProbe, min(len(o.all)/targetShare, int(targetPeriod/m.lookup)))
	}
}

// pickReferences returns living nodes, others for each probe, with the targets' scheme of provider IDs: the CCM finds
// no machines of bare metal or another cloud. One of each zone of the targets is among them: a cloud may lose a zone.
func (o *observation) pickReferences(rotation int, targets []*node) []*node {
	living := o.livingNodes(targets[0].scheme)
	if len(living) == 0 {
		return nil
	}
	first := rotation * referencesPerProbe % len(living)
	living = slices.Concat(living[first:], living[:first])
	byZone := map[string]*node{}
	for _, n := range living {
		if byZone[n.zone] == nil {
			byZone[n.zone] = n
		}
	}
	var chosen []*node
	for _, target := range targets {
		if near := byZone[target.zone]; near != nil {
			chosen = append(chosen, near)
			delete(byZone, target.zone)
		}
	}
	for _, n := range living {
		if len(chosen) < referencesPerProbe && !slices.Contains(chosen, n) {
			chosen = append(chosen, n)
		}
	}
	return chosen
}

func (o *observation) livingNodes(scheme string) []*node {
	var living []*node
	for _, facts := range o.all {
		n := o.byUID[facts.uid]
		if n == nil {
			n = ptr.To(newNode(facts))
		}
		if n.canBeReference() && n.scheme == scheme {
			living = append(living, n)
		}
	}
	slices.SortFunc(living, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	return living
}

// readAnswers reads the answers from the taints. It drops a probe if its leader has changed or a reference is not
// ready.
func (m *memory) readAnswers(o *observation) {
	p := m.probe
	if p == nil {
		return
	}
	if !p.valid(o) {
		m.probe = nil
		return
	}
	p.advance(o)
	for _, uid := range p.targets {
		if n := o.byUID[uid]; n != nil && n.record != nil && p.found[uid] {
			n.record.recordFound(o)
		}
	}
	missing := p.missing(o)
	if p.foundReferences(missing) {
		m.misses, m.unanswered = 0, nil
	}
	if !p.ended(o, missing) {
		return
	}
	m.conclude(o, missing)
	m.probe, m.ended = nil, o.now
}

func (p *probe) valid(o *observation) bool {
	return p.leader == o.leader && !slices.ContainsFunc(p.references, func(uid types.UID) bool {
		n := o.byUID[uid]
		return n == nil || n.kubelet != controlplane.KubeletReady
	})
}

func (p *probe) advance(o *observation) {
	if o.queue < p.queue {
		p.progress = o.now
	}
	p.queue = o.queue
	for _, uid := range slices.Concat(p.targets, p.references) {
		n := o.byUID[uid]
		if n == nil || p.found[uid] || !p.isFound(n) {
			continue
		}
		p.found[uid], p.progress = true, o.now
		if slices.Contains(p.references, uid) {
			if p.slowest = o.now.Sub(p.lastTaint); p.fastest == 0 {
				p.fastest = p.slowest
			}
		}
	}
}

func (p *probe) missing(o *observation) (names []string) {
	for _, uid := range p.references {
		if !p.found[uid] {
			names = append(names, o.byUID[uid].name)
		}
	}
	return names
}

func (p *probe) foundReferences(missing []string) bool {
	return len(missing) == 0 && len(p.references) > 0
}

// ended reports whether the probe has all answers, or the CCM makes no progress. If an outage ends between the look-ups
// of a target and of a reference, the CCM finds the target only when it retries, so targets get twice the time.
func (p *probe) ended(o *observation, missing []string) bool {
	if o.now.Sub(p.progress) >= p.limit || o.now.Sub(p.began) >= probeLimit {
		return true
	}
	unfound, unwritten := p.targetsLeft(o)
	return len(missing) == 0 && (!unfound || !unwritten && o.now.Sub(p.lastTaint) >= max(answerLimit, 2*p.slowest))
}

func (p *probe) targetsLeft(o *observation) (unfound, unwritten bool) {
	for _, uid := range p.targets {
		if o.byUID[uid] != nil {
			unfound, unwritten = unfound || !p.found[uid], unwritten || p.written[uid] == ""
		}
	}
	return unfound, unwritten
}

// conclude records the answers if every reference got the taint. A target that was not found may not have been looked
// up, unless the CCM found the references, or missed some in missLimit probes.
func (m *memory) conclude(o *observation, missing []string) {
	p := m.probe
	if slices.ContainsFunc(p.references, func(uid types.UID) bool { return p.written[uid] == "" }) {
		return
	}
	foundAll := p.foundReferences(missing)
	switch {
	case foundAll:
		m.lookup = p.lookup()
	case len(missing) > 0:
		m.misses++
		m.unanswered, m.waited = missing, p.limit
	}
	for _, uid := range p.targets {
		n := o.byUID[uid]
		switch {
		case n == nil || n.record == nil:
		case p.found[uid]:
			n.record.recordDescribed(o, n, foundAll)
		case p.written[uid] != "" && (len(missing) == 0 || m.misses >= missLimit):
			n.record.recordNotFound(o, foundAll)
		}
	}
}

// lookup returns how long the CCM takes for a machine: the mean of all look-ups until the last reference, limited by
// that between two references, because a cloud that recovers finds all machines at once.
func (p *probe) lookup() time.Duration {
	each := p.slowest / time.Duration(len(p.targets)+len(p.references)+p.initialQueue)
	if between := len(p.references) - 1; between > 0 {
		each = min(each, (p.slowest-p.fastest)/time.Duration(between)+lookSoon)
	}
	return max(each, 1)
}

// wrote records a written taint. The time to answer starts with the last one.
func (p *probe) wrote(uid types.UID, version string, now time.Time) {
	if version != "" {
		p.written[uid], p.lastTaint, p.progress = version, now, now
	}
}
