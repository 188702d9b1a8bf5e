// Package noderepair installs a revision again on a node whose files differ from it: the static pod's manifest or a
// file of the revision's directory was edited or deleted.
package noderepair

import (
	"context"
	"fmt"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/writeconflict"
)

const (
	// Condition is True while files on a node differ and are not repaired, because they were repaired too often, while
	// a file-syncer cannot write its files, and while one does not report.
	Condition = "NodeFilesDegraded"

	name = "NodeRepair"

	// patience is how long files must differ before they are repaired, and how long a file-syncer must fail before it
	// is a problem: one that has just started has not reported yet.
	patience = 30 * time.Second
	// maxSilence is the age of a report after which its file-syncer counts as dead.
	maxSilence = 3 * filesyncer.ReportPeriod

	// maxRepairs limits the repairs within repairPeriod. Each of them restarts a static pod.
	maxRepairs   = 3
	repairPeriod = time.Hour
)

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	// ConfigMaps, Secrets and Pods watch the operand's namespace, Nodes the control-plane Nodes.
	ConfigMaps corev1informers.ConfigMapInformer
	Secrets    corev1informers.SecretInformer
	Pods       corev1informers.PodInformer
	Nodes      corev1informers.NodeInformer
	Client     corev1client.CoreV1Interface
	Clock      clock.PassiveClock
	Recorder   events.Recorder
}

type controller struct {
	Options
	// since has, by node, when its files were first seen to differ.
	since map[string]time.Time
	// failing has, by node, when its file-syncer was first seen to fail.
	failing map[string]time.Time
	// repairs are the times of the repairs within repairPeriod.
	repairs []time.Time
	// heard has, by node, the last report and when it was first seen.
	heard map[string]heard
}

type heard struct {
	text string
	at   time.Time
}

// New returns the controller that compares the files on the nodes, as the file-syncers report them, with the revisions
// that the nodes are at. It repairs one node at a time, by making library-go's installer controller install the node's
// revision again.
func New(o Options) factory.Controller {
	return factory.New().
		WithInformers(o.Operator.Informer(), o.ConfigMaps.Informer(), o.Pods.Informer(), o.Nodes.Informer()).
		WithSync(writeconflict.Retried(newController(o).sync)).
		WithSyncDegradedOnError(o.Operator).
		ToController(name, o.Recorder)
}

func newController(o Options) *controller {
	return &controller{
		Options: o, since: map[string]time.Time{}, failing: map[string]time.Time{}, heard: map[string]heard{},
	}
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.Operator)
	if err != nil || !known || !managed {
		return err
	}
	if err := c.ensureReports(ctx); err != nil {
		return err
	}
	_, status, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	node, damage, wait, err := c.damagedNode(status)
	if err != nil {
		return err
	}
	problems, again, err := c.problems(status)
	if err != nil {
		return err
	}
	wait = sooner(wait, again)
	if node != nil {
		postponed, next, err := c.mend(ctx, node, damage)
		if err != nil {
			return err
		}
		problems, wait = append(problems, postponed...), sooner(wait, next)
	}
	if wait > 0 {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), wait)
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name, conditionOf(problems))
}

// mend repairs the node unless there were too many repairs, which is the problem that it returns. next is then the time
// until it may be repaired.
func (c *controller) mend(ctx context.Context, node *operatorv1.NodeStatus, damage string) (
	problems []problem, next time.Duration, err error,
) {
	now := c.Clock.Now()
	c.repairs = slices.DeleteFunc(c.repairs, func(at time.Time) bool { return now.Sub(at) >= repairPeriod })
	if len(c.repairs) >= maxRepairs {
		next = c.repairs[0].Add(repairPeriod).Sub(now)
		return []problem{{"RepairedTooOften", fmt.Sprintf(
			"node/%s: %s, and files were repaired %d times within the last hour: find out what changes files below "+
				"/etc/kubernetes on the control plane; the next repair is in %s",
			node.NodeName, damage, maxRepairs, next.Round(time.Minute))}}, next, nil
	}
	// The cache may not have the repair of another node yet.
	_, live, _, err := c.Operator.GetStaticPodOperatorStateWithQuorum(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	if installing(live) {
		return nil, 0, nil
	}
	if err := c.repair(ctx, node, damage); err != nil {
		return nil, 0, err
	}
	c.repairs = append(c.repairs, now)
	clear(c.since)
	return nil, 0, nil
}

// sooner returns the shorter of two times to wait; 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// ensureReports creates the ConfigMap for the file-syncers' reports.
func (c *controller) ensureReports(ctx context.Context) error {
	_, err := c.ConfigMaps.Lister().ConfigMaps(operand.Namespace).Get(filesyncer.ReportConfigMap)
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = c.Client.ConfigMaps(operand.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: operand.Namespace, Name: filesyncer.ReportConfigMap,
	}}, metav1.CreateOptions{})
	return err
}

// damagedNode returns a node whose files have differed for long enough, and how. While a node is being installed, it
// returns none. wait is the time until another node's files will have differed for long enough.
func (c *controller) damagedNode(status *operatorv1.StaticPodOperatorStatus) (
	node *operatorv1.NodeStatus, damage string, wait time.Duration, err error,
) {
	if installing(status) {
		clear(c.since)
		return nil, "", 0, nil
	}
	for i := range status.NodeStatuses {
		n := &status.NodeStatuses[i]
		found, err := c.damageOf(n)
		if err != nil {
			return nil, "", 0, err
		}
		left := c.remaining(c.since, n.NodeName, found)
		switch {
		case found == "":
		case left > 0:
			wait = sooner(wait, left)
		case node == nil:
			node, damage = n, found
		}
	}
	return node, damage, wait, nil
}

// installing reports whether a node is being installed or waits for that.
func installing(status *operatorv1.StaticPodOperatorStatus) bool {
	return slices.ContainsFunc(status.NodeStatuses, func(n operatorv1.NodeStatus) bool {
		return n.TargetRevision != 0 || n.CurrentRevision == 0 || n.CurrentRevision < status.LatestAvailableRevision
	})
}

// remaining records since when something is wrong with a node, and returns how much longer that must last.
func (c *controller) remaining(since map[string]time.Time, node, wrong string) time.Duration {
	now := c.Clock.Now()
	if wrong == "" {
		delete(since, node)
	} else if since[node].IsZero() {
		since[node] = now
	}
	return since[node].Add(patience).Sub(now)
}

// damageOf returns how a node's files differ from its revision, "" if they do not or if that is not known.
func (c *controller) damageOf(node *operatorv1.NodeStatus) (string, error) {
	if ready, err := c.isReady(node.NodeName); err != nil || !ready {
		return "", err
	}
	_, err := c.Pods.Lister().Pods(operand.Namespace).Get(operand.Name + "-" + node.NodeName)
	if apierrors.IsNotFound(err) {
		return "the static pod does not exist", nil
	}
	if err != nil {
		return "", err
	}
	report, text, err := c.reportOf(node.NodeName)
	if err != nil || text == "" {
		return "", err
	}
	installed, err := c.installed(node.CurrentRevision)
	if err != nil || installed == nil {
		return "", err
	}
	switch {
	case report.Manifest != nodefiles.Digest(nodefiles.Files{operand.ManifestFile: installed.Manifest}):
		return fmt.Sprintf("the manifest of the static pod differs from revision %d", node.CurrentRevision), nil
	case report.Directory != nodefiles.Digest(installed.Files):
		return fmt.Sprintf("the files of revision %d differ from its objects", node.CurrentRevision), nil
	}
	return "", nil
}

// installed returns what a revision is on a node, nil if its objects are not complete.
func (c *controller) installed(revision int32) (*operand.Installed, error) {
	configMaps, err := copies(operand.ConfigMap, revision, c.ConfigMaps.Lister().ConfigMaps(operand.Namespace).Get)
	if err != nil {
		return nil, err
	}
	secrets, err := copies(operand.Secret, revision, c.Secrets.Lister().Secrets(operand.Namespace).Get)
	if err != nil {
		return nil, err
	}
	installed, err := operand.InstalledOf(configMaps, secrets, revision)
	if err != nil {
		return nil, nil //nolint:nilerr // the installer could not install it either, and says so
	}
	return installed, nil
}

// copies returns those of a revision's objects of one kind that exist.
func copies[T any](kind operand.Kind, revision int32, get func(name string) (*T, error)) ([]*T, error) {
	var found []*T
	for _, name := range operand.DeliveredBy(kind, operand.Revisioned) {
		object, err := get(fmt.Sprintf("%s-%d", name, revision))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, object)
	}
	return found, nil
}

// repair makes the installer controller install the node's revision again, by setting it as the node's target. That
// controller takes a revision as installed if the installer pod of the node and revision has succeeded, so that pod
// goes first. The node's revision itself may not decrease, by the validation of NodeStatus.
func (c *controller) repair(ctx context.Context, node *operatorv1.NodeStatus, damage string) error {
	installer := fmt.Sprintf("installer-%d-%s", node.CurrentRevision, node.NodeName)
	err := c.Client.Pods(operand.Namespace).Delete(ctx, installer, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting pod/%s in %s: %w", installer, operand.Namespace, err)
	}
	status := applyoperatorv1.StaticPodOperatorStatus().WithNodeStatuses(applyoperatorv1.NodeStatus().
		WithNodeName(node.NodeName).WithCurrentRevision(node.CurrentRevision).WithTargetRevision(node.CurrentRevision))
	manager := factory.ControllerFieldManager(name, "repair")
	if err := c.Operator.ApplyStaticPodOperatorStatus(ctx, manager, status); err != nil {
		return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	c.Recorder.Warningf("NodeFilesRepaired", "Installing revision %d on node/%s again: %s",
		node.CurrentRevision, node.NodeName, damage)
	return nil
}
