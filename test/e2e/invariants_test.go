package e2e

import (
	"bytes"
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
	leaseExpires = 251 * time.Second
)

// allowance is what one fault may do beyond the invariants. why is the reason.
type allowance struct {
	// revisions is the most revisions that it may create.
	revisions int
	// withoutLeader replaces withoutLeaderLimit.
	withoutLeader time.Duration
	// noneServing is set where the fault itself ends every process.
	noneServing bool
	// noneReady is set where the API server cannot know which pods are Ready, and unavailable where the ClusterOperator
	// follows that.
	noneReady, unavailable bool
	// revisionDeleted is set where the fault itself deletes the last good revision, in the API or on a node.
	revisionDeleted bool
	why             string
}

// invariants checks in the background what has to hold at any time. The processes themselves say whether they serve
// and lead: the status of their pods is out of date when a kubelet or the API server is down.
type invariants struct {
	suite  *suite
	client *http.Client

	mutex sync.Mutex
	// row is the running row's allowance; nothing is checked between rows.
	row           *allowance
	began         time.Time
	nodes         map[string]types.UID
	held          int32
	serving       map[string]time.Time
	leading       map[string]time.Time
	lastLed       time.Time
	fewest        int
	withoutLeader time.Duration
	violations    sets.Set[string]

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
	if row.withoutLeader == 0 {
		row.withoutLeader = withoutLeaderLimit
	}
	i.row, i.held, i.began, i.lastLed = &row, revision, now, now
	i.fewest, i.withoutLeader = size, 0
	i.violations = sets.New[string]()
}

// summary is what was seen in a row.
type summary struct {
	fewest        int
	withoutLeader time.Duration
	violations    []string
}

func (i *invariants) end() summary {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	found := summary{fewest: i.fewest, withoutLeader: i.withoutLeader}
	found.violations = append(found.violations, sets.List(i.violations)...)
	if i.withoutLeader > i.row.withoutLeader {
		found.violations = append(found.violations, fmt.Sprintf("no process led for %s",
			i.withoutLeader.Round(100*time.Millisecond)))
	}
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
	i.withoutLeader = max(i.withoutLeader, asked.Sub(i.lastLed))
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
	i.fewest = min(i.fewest, serve)
	if serve == 0 && !i.row.noneServing {
		i.violated("no process served")
	}
	i.withoutLeader = max(i.withoutLeader, now.Sub(i.lastLed))
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

// lookAtRevision checks that the revision that was good at the row's begin is kept.
func (i *invariants) lookAtRevision(ctx context.Context) {
	i.mutex.Lock()
	row, revision := i.row, i.held
	i.mutex.Unlock()
	if row == nil || row.revisionDeleted {
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
	for _, what := range missing {
		i.violated("%s", what)
	}
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
