package nodedeletion

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

const (
	// answerLimit is how long a CCM may take until the next answer, while nothing shows that it needs longer. It took one
	// second. After each probe that was not answered the next one waits twice as long, up to slowLimit, so that a slow
	// cloud is measured.
	answerLimit = 15 * time.Second
	slowLimit   = time.Minute
	// probeLimit is how long a CCM may take that is known to be slow.
	probeLimit = 10 * time.Minute
	// missLimit is how many probes in a row have to stay unanswered until the cloud counts as one that denies living
	// machines.
	missLimit = 2

	// askAgain is the time between two probes, askMissed that after the first one that was not answered, and askNew that
	// while there are Nodes that the leader has not been asked for.
	askAgain  = 30 * time.Second
	askMissed = 10 * time.Second
	askNew    = 5 * time.Second

	// references is how many living nodes a CCM is asked for at once, or one for each zone of the subjects. subjects is
	// how many it is asked for that it wants to delete, until its time for a look-up is known. From then on it is a
	// subjectShare of the Nodes, if the CCM can look them up within subjectTime. After a probe that was not answered, it
	// is asked for one.
	references   = 3
	subjects     = 10
	subjectShare = 100
	subjectTime  = 30 * time.Second
)

// probe is a question to a leader: about subjects, which it wants to delete, and about references, which live. The
// taints of the subjects are written first, and a CCM looks nodes up in that order. Once it has found the references,
// it has therefore looked for the subjects.
type probe struct {
	leader               string
	subjects, references []types.UID
	// about are the Nodes of the probe, written their versions with the taint, and answered those that have lost it.
	about    map[types.UID]bool
	written  map[types.UID]string
	answered map[types.UID]bool
	// began is when the probe began, asked when the last taint was written, and progress when the CCM showed that it
	// works: it answered, or it initialized a Node.
	began, asked, progress time.Time
	// uninitialized is how many Nodes wait for their initialization now, and queue how many did when the probe began.
	uninitialized, queue int
	// limit is how long the CCM may make no progress. fastest and slowest are how long it took to find references.
	limit, fastest, slowest time.Duration
}

// probing is what the controller learned from probes.
type probing struct {
	// begun is false before the first look.
	begun bool
	// misses counts the last probes that were not answered. unanswered are the names of the living nodes that the CCM did
	// not find in the last one, within waited.
	misses     int
	unanswered []string
	waited     time.Duration
	// ended is when the last probe ended.
	ended time.Time
	// lookup is how long the leader takes for a machine, 0 if it is not known.
	lookup time.Duration
	// turn selects other references for each probe.
	turn int
}

// includes reports whether the probe is about a Node. No probe is about none.
func (p *probe) includes(uid types.UID) bool { return p != nil && p.about[uid] }

// lacks reports whether the Node still has to get the taint.
func (p *probe) lacks(n *node) bool { return p.includes(n.uid) && !n.asked && p.written[n.uid] == "" }

// answers reports whether the taint was written and is gone again. A cache from before the probe has no taint either.
func (p *probe) answers(n *node) bool {
	return p.written[n.uid] != "" && !n.asked && isLater(n.facts.version, p.written[n.uid])
}

// ask begins a probe if it is time for one.
func (m *memory) ask(w *world) {
	if !w.answers || w.leader == "" || m.probe != nil {
		return
	}
	about := m.due(w)
	if len(about) == 0 || w.now.Sub(m.ended) < m.pause(about) {
		return
	}
	about = about[:min(len(about), m.subjectsPerProbe(w))]
	p := &probe{
		leader: w.leader, about: map[types.UID]bool{}, written: map[types.UID]string{}, answered: map[types.UID]bool{},
		began: w.now, asked: w.now, progress: w.now, uninitialized: w.uninitialized, queue: w.uninitialized,
	}
	for _, n := range about {
		p.subjects, p.about[n.uid] = append(p.subjects, n.uid), true
		n.record.asked = w.now
	}
	for _, n := range w.references(m.turn, about) {
		p.references, p.about[n.uid] = append(p.references, n.uid), true
		if w.byUID[n.uid] == nil {
			w.nodes, w.byUID[n.uid] = append(w.nodes, n), n
		}
	}
	for _, n := range w.nodes {
		if n.asked && p.includes(n.uid) { // It has the taint of the last probe.
			p.written[n.uid] = n.facts.version
		}
	}
	needs := 2 * m.lookup.Nanoseconds() * int64(len(p.subjects)+len(p.references)+p.queue)
	p.limit = min(probeLimit, max(min(slowLimit, answerLimit<<min(m.misses, missLimit)), time.Duration(needs)))
	m.turn++
	m.probe = p
}

// due returns the Nodes to ask for, those first that were asked for the longest time ago. A cloud finds only its own
// machines, so all of them are of one cloud.
func (m *memory) due(w *world) []*node {
	var due []*node
	for _, n := range w.nodes {
		if n.record == nil {
			continue
		}
		switch n.record.state {
		case settling, candidate, held:
			due = append(due, n)
		case confirmed:
			if w.now.Sub(n.record.asked) >= confirmationLife {
				due = append(due, n)
			}
		case kept, uninitialized, allowed, known:
		}
	}
	slices.SortStableFunc(due, func(a, b *node) int { return a.record.asked.Compare(b.record.asked) })
	return slices.DeleteFunc(due, func(n *node) bool { return n.scheme != due[0].scheme })
}

func (m *memory) pause(about []*node) time.Duration {
	switch {
	case m.misses == 1:
		return askMissed
	case m.misses == 0 && about[0].record.asked.IsZero():
		return askNew
	default:
		return askAgain
	}
}

func (m *memory) subjectsPerProbe(w *world) int {
	switch {
	case m.misses > 0:
		return 1
	case m.lookup == 0:
		return subjects
	default:
		return max(subjects, min(len(w.all)/subjectShare, int(subjectTime/m.lookup)))
	}
}

// references returns living nodes to ask for, others in each turn. Their provider IDs have the scheme of the subjects':
// the CCM never finds machines of bare metal or of another cloud. Among them is one of each zone of the subjects, if it
// has one: a cloud may lose a single zone.
func (w *world) references(turn int, about []*node) []*node {
	living := w.livingNodes(about[0].scheme)
	if len(living) == 0 {
		return nil
	}
	first := turn * references % len(living)
	living = slices.Concat(living[first:], living[:first])
	byZone := map[string]*node{}
	for _, n := range living {
		if byZone[n.zone] == nil {
			byZone[n.zone] = n
		}
	}
	var chosen []*node
	for _, subject := range about {
		if near := byZone[subject.zone]; near != nil {
			chosen = append(chosen, near)
			delete(byZone, subject.zone)
		}
	}
	for _, n := range living {
		if len(chosen) < references && !slices.Contains(chosen, n) {
			chosen = append(chosen, n)
		}
	}
	return chosen
}

// livingNodes returns the nodes that the CCM can be asked for, sorted by name.
func (w *world) livingNodes(scheme string) []*node {
	var living []*node
	for _, facts := range w.all {
		n := w.byUID[facts.uid]
		if n == nil {
			n = ptr.To(newNode(facts))
		}
		if n.canBeAsked() && n.scheme == scheme {
			living = append(living, n)
		}
	}
	slices.SortFunc(living, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	return living
}

// listen looks for the answer to the probe. The answer of a leader that has ended, or about a living node that does not
// live any more, is none.
func (m *memory) listen(w *world) {
	p := m.probe
	if p == nil {
		return
	}
	if !p.valid(w) {
		m.probe = nil
		return
	}
	p.advance(w)
	for _, uid := range p.subjects {
		if n := w.byUID[uid]; n != nil && n.record != nil && p.answered[uid] {
			n.record.find(w)
		}
	}
	missing := p.missing(w)
	if p.foundAll(missing) {
		m.misses, m.unanswered = 0, nil
	}
	if !p.ended(w, missing) {
		return
	}
	m.conclude(w, missing)
	m.probe, m.ended = nil, w.now
}

// valid reports whether an answer would still count.
func (p *probe) valid(w *world) bool {
	return p.leader == w.leader && !slices.ContainsFunc(p.references, func(uid types.UID) bool {
		n := w.byUID[uid]
		return n == nil || n.kubelet != controlplane.KubeletReady
	})
}

// advance records the answers since the last look.
func (p *probe) advance(w *world) {
	if w.uninitialized < p.uninitialized {
		p.progress = w.now
	}
	p.uninitialized = w.uninitialized
	for _, uid := range slices.Concat(p.subjects, p.references) {
		n := w.byUID[uid]
		if n == nil || p.answered[uid] || !p.answers(n) {
			continue
		}
		p.answered[uid], p.progress = true, w.now
		if slices.Contains(p.references, uid) {
			if p.slowest = w.now.Sub(p.asked); p.fastest == 0 {
				p.fastest = p.slowest
			}
		}
	}
}

// missing returns the names of the references without an answer.
func (p *probe) missing(w *world) (names []string) {
	for _, uid := range p.references {
		if !p.answered[uid] {
			names = append(names, w.byUID[uid].name)
		}
	}
	return names
}

// foundAll reports whether the CCM found the references, and there are some.
func (p *probe) foundAll(missing []string) bool { return len(missing) == 0 && len(p.references) > 0 }

// ended reports whether no more answers are waited for: there are all, or the CCM makes no progress. It may have looked
// for a subject while the cloud denied every machine, and for a reference afterwards. It tries again within the time
// that it took before, so the subjects have as long again.
func (p *probe) ended(w *world, missing []string) bool {
	if w.now.Sub(p.progress) >= p.limit || w.now.Sub(p.began) >= probeLimit {
		return true
	}
	waits, unwritten := p.open(w)
	return len(missing) == 0 && (!waits || !unwritten && w.now.Sub(p.asked) >= max(answerLimit, 2*p.slowest))
}

// open reports whether the CCM has not found a subject, and whether it was not asked for one.
func (p *probe) open(w *world) (waits, unwritten bool) {
	for _, uid := range p.subjects {
		if w.byUID[uid] != nil {
			waits, unwritten = waits || !p.answered[uid], unwritten || p.written[uid] == ""
		}
	}
	return waits, unwritten
}

// conclude remembers the answers. They say nothing about the CCM if it was not asked for every living node. What it did
// not find may be what it did not reach, unless it found the living nodes, or did not find any twice.
func (m *memory) conclude(w *world, missing []string) {
	p := m.probe
	if slices.ContainsFunc(p.references, func(uid types.UID) bool { return p.written[uid] == "" }) {
		return
	}
	honest := p.foundAll(missing)
	switch {
	case honest:
		m.lookup = p.lookup()
	case len(missing) > 0:
		m.misses++
		m.unanswered, m.waited = missing, p.limit
	}
	for _, uid := range p.subjects {
		n := w.byUID[uid]
		switch {
		case n == nil || n.record == nil:
		case p.answered[uid]:
			n.record.describe(w, n, honest)
		case p.written[uid] != "" && (len(missing) == 0 || m.misses >= missLimit):
			n.record.deny(w, honest)
		}
	}
}

// lookup returns how long the CCM takes for a machine. It is the mean of all look-ups until the last reference, and not
// much more than that between two references: a cloud that denied every machine until a moment ago finds all at once.
func (p *probe) lookup() time.Duration {
	each := p.slowest / time.Duration(len(p.subjects)+len(p.references)+p.queue)
	if between := len(p.references) - 1; between > 0 {
		each = min(each, (p.slowest-p.fastest)/time.Duration(between)+lookSoon)
	}
	return max(each, 1)
}

// find remembers that the CCM found the machine.
func (r *record) find(w *world) {
	if r.found.Before(r.asked) {
		r.found, r.notFound, r.proven = w.now, time.Time{}, time.Time{}
	}
}

// deny remembers that the CCM did not find the machine, and whether it found every living node of the same probe.
func (r *record) deny(w *world, honest bool) {
	r.notFound, r.found, r.described = w.now, time.Time{}, time.Time{}
	if honest {
		r.proven = w.now
	}
}

// describe remembers that the CCM found the machine, where the cloud describes a machine after its end: the CCM finds
// it, and goes on to announce the deletion of its Node. That is a denial too, if the same leader found every living
// node both before and after it.
func (r *record) describe(w *world, n *node, honest bool) {
	last := r.described
	r.described = time.Time{}
	if !w.deletions.Described || !honest {
		return
	}
	r.described = w.now
	if !last.IsZero() && w.now.Sub(last) < claimLife && n.announced.After(last) {
		r.proven = w.now
	}
}

// wrote remembers that a taint was written. The time to answer begins with the last one.
func (p *probe) wrote(uid types.UID, version string, now time.Time) {
	if version != "" {
		p.written[uid], p.asked, p.progress = version, now, now
	}
}

// taintsOf returns the taints of a Node with or without that of the controller.
func taintsOf(n *node, asked bool) []corev1.Taint {
	taints := slices.DeleteFunc(slices.Clone(n.facts.taints), isQuestion)
	if asked {
		taints = append(taints, corev1.Taint{
			Key: controlplane.UninitializedTaint, Value: question, Effect: corev1.TaintEffectPreferNoSchedule,
		})
	}
	return taints
}
