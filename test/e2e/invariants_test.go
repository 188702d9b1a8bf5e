package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/operandprobe"
)

const (
	// askInterval is how often each process is asked whether it serves and leads. An answer counts for answerAge, so
	// that one answer that a busy machine delays is no violation.
	askInterval = 300 * time.Millisecond
	answerAge   = 3 * time.Second
	// lookInterval is how often the API, the nodes' disks and the logs are checked.
	lookInterval = time.Second
	// withoutLeaderLimit is how long no process may lead after the end of the leader.
	withoutLeaderLimit = 30 * time.Second
	// leaseExpires is how long no process may lead where nothing releases the lease: it lasts 137 s, and a standby asks
	// for it every 26 to 57 s. It may begin to count the 137 s one period late.
	leaseExpires = 137*time.Second + 2*standbyAsks
	// standbyAsks is the longest time between two requests of a standby for the lease.
	standbyAsks = 57 * time.Second
	// gaveUp is when a leader without an API server stops acting at the earliest: 107 s after its last renewal, which was
	// up to 26 s ago.
	gaveUp = 81 * time.Second
	// settles is how long a holder must have the lease before it counts as a leader.
	settles = 30 * time.Second
	// hangs is the longest time until the kubelet has ended a process that does not answer.
	hangs = 100 * time.Second
	// replacementReports is how long the next static pod of a node may take to prove that the former has ended, where the
	// kubelet deletes the former's mirror pod without reporting its end. Then the operator releases the lease.
	replacementReports = 15 * time.Second
	// operatorBack is how long no operator acts after one was killed: its kubelet restarts it, and it starts.
	operatorBack = 20 * time.Second
	// tokenDelivered is how long an operator needs to start, and a file-syncer to write a token: it looks every 30 s.
	tokenDelivered = 45 * time.Second
)

// allowance is what one fault may do beyond the invariants, each with a limit. why is the reason.
type allowance struct {
	// revisions is how many revisions the row wants: one for each change of the configuration. surplus is how many more
	// it may create.
	revisions, surplus int
	// withoutLeader replaces withoutLeaderLimit.
	withoutLeader time.Duration
	// noneServing limits how long no process serves, where the fault itself ends every process.
	noneServing time.Duration
	// noneReady limits how long no pod counts as Ready where the API server cannot know which pods are, and unavailable
	// how long the ClusterOperator follows that.
	noneReady, unavailable time.Duration
	// deleted is how much of the last good revision the fault itself deletes: its directories on the nodes, and its
	// Secrets in the API.
	deleted int
	why     string
}

// texts tells the limits beyond the invariants, and what was seen of each.
func (a *allowance) texts(seen summary) []string {
	var texts []string
	limited := func(what string, limit, lasted time.Duration) {
		if limit > 0 {
			texts = append(texts, fmt.Sprintf("%s for %s of at most %s", what, lasted.Round(100*time.Millisecond), limit))
		}
	}
	limited("none leads", a.withoutLeader, seen.withoutLeader)
	limited("none serves", a.noneServing, seen.noneServing)
	limited("none is Ready", a.noneReady, seen.noneReady)
	limited("not Available", a.unavailable, seen.unavailable)
	if a.deleted > 0 {
		texts = append(texts, fmt.Sprintf("%d of at most %d parts of a revision deleted", seen.deleted, a.deleted))
	}
	if a.surplus > 0 {
		texts = append(texts, fmt.Sprintf("at most %d revisions", a.surplus))
	}
	return texts
}

// exceeded returns the limits that a row exceeded.
func (a *allowance) exceeded(seen summary) []string {
	var violations []string
	for _, check := range []struct {
		what          string
		lasted, limit time.Duration
	}{
		{"no process led", seen.withoutLeader, cmp.Or(a.withoutLeader, withoutLeaderLimit)},
		{"no process served", seen.noneServing, a.noneServing},
		{"no pod was Ready", seen.noneReady, a.noneReady},
		{"the ClusterOperator was not Available", seen.unavailable, a.unavailable},
	} {
		if check.lasted > check.limit {
			violations = append(violations, fmt.Sprintf("%s for %s, the limit is %s", check.what,
				check.lasted.Round(100*time.Millisecond), check.limit))
		}
	}
	if seen.deleted > a.deleted {
		violations = append(violations, fmt.Sprintf("%d parts of the last good revision were deleted, the limit is %d: %s",
			seen.deleted, a.deleted, strings.Join(seen.lost, ", ")))
	}
	return violations
}

// invariants checks in the background what has to hold at any time. The processes themselves say whether they serve
// and lead: the status of their pods is out of date when a kubelet or the API server is down.
type invariants struct {
	suite  *suite
	client *http.Client

	mutex sync.Mutex
	// row is the running row's allowance; nothing is checked between rows.
	row        *allowance
	began      time.Time
	nodes      map[string]types.UID
	held       int32
	serving    map[string]time.Time
	leading    map[string]time.Time
	lastLed    time.Time
	lastServed time.Time
	seen       summary
	lost       sets.Set[string]
	violations sets.Set[string]

	secrets []string
	// offsets are how far each log has been read.
	offsets map[string]int64
}

// watchInvariants checks until the end of the test.
func (s *suite) watchInvariants(t *testing.T) *invariants {
	t.Helper()
	// The CA of the processes' certificates changes in the suite; requireOneLeader verifies it.
	config := s.RESTConfig()
	config.CAData, config.CAFile, config.Insecure, config.Timeout = nil, "", true, 2*time.Second
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	i := &invariants{suite: s, client: client, violations: sets.New[string](), offsets: map[string]int64{},
		serving: map[string]time.Time{}, leading: map[string]time.Time{}}
	i.keepSecret(t)
	i.watchSecrets(t)
	var group sync.WaitGroup
	for _, n := range s.Nodes() {
		group.Go(func() { every(t.Context(), askInterval, func() { i.ask(t.Context(), n) }) })
	}
	group.Go(func() { every(t.Context(), askInterval, func() { i.count(time.Now()) }) })
	group.Go(func() { every(t.Context(), lookInterval, func() { i.lookAtNodes(t.Context()) }) })
	group.Go(func() { every(t.Context(), lookInterval, func() { i.lookAtRevision(t.Context()) }) })
	group.Go(func() { every(t.Context(), lookInterval, i.readLogs) })
	t.Cleanup(group.Wait)
	return i
}

// every calls f with a pause in between until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	for ctx.Err() == nil {
		f()
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}

var passwordKey = regexp.MustCompile(`password: "?([^"\n]+)`)

// keepSecret adds the cloud's current password to the values that may appear nowhere.
func (i *invariants) keepSecret(t *testing.T) {
	t.Helper()
	found := passwordKey.FindSubmatch(i.suite.Cloud().CloudsYAML())
	require.NotNil(t, found, "clouds.yaml has a password")
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if secret := string(found[1]); !slices.Contains(i.secrets, secret) {
		i.secrets = append(i.secrets, secret)
	}
}

// begin starts the checks of a row: the revision is the last good one.
func (i *invariants) begin(t *testing.T, revision int32, row allowance) {
	t.Helper()
	list, err := i.suite.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.nodes = map[string]types.UID{}
	for _, n := range list.Items {
		i.nodes[n.Name] = n.UID
	}
	i.start(time.Now(), i.suite.size, revision, row)
}

// start resets what is recorded of a row. The caller holds the mutex.
func (i *invariants) start(now time.Time, size int, revision int32, row allowance) {
	i.row, i.held, i.began, i.lastLed, i.lastServed = &row, revision, now, now, now
	i.seen = summary{fewest: size}
	i.lost, i.violations = sets.New[string](), sets.New[string]()
}

// summary is what was seen in a row.
type summary struct {
	fewest                                             int
	withoutLeader, noneServing, noneReady, unavailable time.Duration
	// lost are the deleted parts of the revision that was good at the row's begin, and deleted is their number.
	lost       []string
	deleted    int
	violations []string
}

// end ends the checks of a row. noneReady and unavailable are what the monitor saw.
func (i *invariants) end(noneReady, unavailable time.Duration) summary {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	found := i.seen
	found.noneReady, found.unavailable = noneReady, unavailable
	found.lost, found.deleted = sets.List(i.lost), i.lost.Len()
	found.violations = append(sets.List(i.violations), i.row.exceeded(found)...)
	i.row, i.violations = nil, sets.New[string]()
	return found
}

// violated records a violation once. The caller holds the mutex.
func (i *invariants) violated(format string, args ...any) {
	if i.row != nil {
		i.violations.Insert(fmt.Sprintf(format, args...))
	}
}

// ask asks the process of a node.
func (i *invariants) ask(ctx context.Context, n *node.Node) {
	asked := time.Now()
	if leads, err := operandprobe.Leads(ctx, i.client, n.IP()); err == nil {
		i.answered(n.Name(), asked, leads)
	}
}

// answered records an answer, which tells of a moment after the question.
func (i *invariants) answered(name string, asked time.Time, leads bool) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.serving[name] = asked
	if !leads {
		delete(i.leading, name)
		return
	}
	for other, at := range i.leading {
		if other != name && asked.Sub(at).Abs() < 2*askInterval {
			i.violated("two processes led: %s and %s", min(name, other), max(name, other))
		}
	}
	i.leading[name] = asked
	i.seen.withoutLeader = max(i.seen.withoutLeader, asked.Sub(i.lastLed))
	i.lastLed = asked
}

// count counts the processes that serve.
func (i *invariants) count(now time.Time) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.row == nil || now.Sub(i.began) < answerAge {
		return
	}
	serve := 0
	for _, at := range i.serving {
		if now.Sub(at) < answerAge {
			serve++
		}
	}
	i.seen.fewest = min(i.seen.fewest, serve)
	if serve > 0 {
		i.lastServed = now
	}
	i.seen.noneServing = max(i.seen.noneServing, now.Sub(i.lastServed))
	i.seen.withoutLeader = max(i.seen.withoutLeader, now.Sub(i.lastLed))
}

// lookAtNodes checks that every Node is the one of the row's begin.
func (i *invariants) lookAtNodes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	list, err := i.suite.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return // The API server is down, which a row does.
	}
	found := map[string]types.UID{}
	for _, n := range list.Items {
		found[n.Name] = n.UID
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for name, uid := range i.nodes {
		if found[name] != uid {
			i.violated("node/%s was deleted", name)
		}
	}
}

// forgetNode permits the row to delete this Node itself.
func (i *invariants) forgetNode(name string) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	delete(i.nodes, name)
}

// lookAtRevision checks that the revision that was good at the row's begin is kept.
func (i *invariants) lookAtRevision(ctx context.Context) {
	i.mutex.Lock()
	row, revision := i.row, i.held
	i.mutex.Unlock()
	if row == nil {
		return
	}
	var missing []string
	for _, n := range i.suite.Nodes() {
		directory := filepath.Join(n.Root(), revisionDirectory(revision))
		if _, err := os.Stat(directory); os.IsNotExist(err) {
			missing = append(missing, n.Name()+" lost "+filepath.Base(directory))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, name := range []string{"cloud-config", "cloud-credentials"} {
		name = fmt.Sprintf("%s-%d", name, revision)
		_, err := i.suite.kube.CoreV1().Secrets(targetNamespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			missing = append(missing, "secret/"+name+" was deleted")
		}
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.row != row {
		return
	}
	i.lost.Insert(missing...)
}

// revisionDirectory is a node's directory of a revision.
func revisionDirectory(revision int32) string {
	return fmt.Sprintf("etc/kubernetes/static-pod-resources/cloud-controller-manager-pod-%d", revision)
}

// watchSecrets looks for the password in each version of every object that others than the operator may read.
func (i *invariants) watchSecrets(t *testing.T) {
	t.Helper()
	factory := dynamicinformer.NewDynamicSharedInformerFactory(i.suite.dynamic, 0)
	for _, resource := range []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("configmaps"), corev1.SchemeGroupVersion.WithResource("events"),
		configv1.GroupVersion.WithResource("clusteroperators"), ccmv1.Resource,
	} {
		look := func(object any) {
			content, err := json.Marshal(object)
			if err == nil {
				i.requireNone(resource.Resource, content)
			}
		}
		_, err := factory.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: look, UpdateFunc: func(_, object any) { look(object) },
		})
		require.NoError(t, err)
	}
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
}

// requireNone records the place of a password. The message does not have the password itself.
func (i *invariants) requireNone(where string, content []byte) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for _, secret := range i.secrets {
		if bytes.Contains(content, []byte(secret)) {
			i.violated("a password is in %s", where)
		}
	}
}

// readLogs reads what the containers have logged since the last call.
func (i *invariants) readLogs() {
	for _, n := range i.suite.Nodes() {
		root := filepath.Join(n.Root(), "var/log/pods")
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil //nolint:nilerr // A pod's directory may vanish meanwhile.
			}
			i.readLog(path)
			return nil
		})
	}
}

// readLog reads a log from where it stopped, and a little before that, for a password that was written in two parts.
func (i *invariants) readLog(path string) {
	const overlap = 256
	file, err := os.Open(path)
	if err != nil {
		return // It was rotated or deleted.
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == i.offsets[path] {
		return
	}
	if info.Size() < i.offsets[path] {
		i.offsets[path] = 0
	}
	content, err := io.ReadAll(io.NewSectionReader(file, max(0, i.offsets[path]-overlap), 1<<30))
	if err != nil {
		return
	}
	i.offsets[path] = info.Size()
	i.requireNone("the log "+strings.Join(strings.Split(path, "/")[max(0, strings.Count(path, "/")-2):], "/"), content)
}
