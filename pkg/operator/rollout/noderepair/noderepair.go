// Package noderepair installs a revision again on a node whose files differ from it: the static pod's manifest or a
// file of the revision's directory was edited or deleted, the machine was replaced under its name, or etcd was restored
// from an older snapshot.
package noderepair

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

const (
	// Condition is True while files on a node differ and are not repaired, because they were repaired too often or a
	// rollout is under way, while a file-syncer cannot write its files, and while one does not report.
	Condition = "NodeFilesDegraded"

	name = "NodeRepair"

	// filesPatience is how long files must differ before they are repaired, and how long a file-syncer must fail before it
	// is a problem: one that has just started has not reported yet.
	filesPatience = 30 * time.Second
	// maxSilence is the age of a report after which its file-syncer counts as dead.
	maxSilence = 3 * filesyncer.ReportPeriod

	// replacedPatience is how long a Node that is newer than its installer pod may lack the static pod. The kubelet of a
	// machine that has registered again creates the mirror pod within seconds.
	replacedPatience = 10 * time.Second

	// waitingPatience is how long files must differ before the operator says that their repair waits for a rollout.
	waitingPatience = time.Minute

	// maxRepairs limits the repairs of a node within repairPeriod. Each of them restarts a static pod.
	maxRepairs   = 3
	repairPeriod = time.Hour
)

// Inertia is that of the condition.
var Inertia = operatorclient.Inertia{Condition: operatorclient.DefaultInertia}

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	// ConfigMaps, Secrets and Pods watch the operand's namespace, Nodes the control-plane Nodes.
	ConfigMaps corev1informers.ConfigMapInformer
	Secrets    corev1informers.SecretInformer
	Pods       corev1informers.PodInformer
	Nodes      corev1informers.NodeInformer
	Client     corev1client.CoreV1Interface
	// Repaired is called after each repair.
	Repaired func()
	Clock    clock.PassiveClock
	Recorder events.Recorder
}

type controller struct {
	Options
	// since has, by node, when its files were first seen to differ.
	since patience.Each[string, bool]
	// failing has, by node, when its file-syncer was first seen to fail.
	failing patience.Each[string, bool]
	// repairs has, by machine, the times of the repairs within repairPeriod.
	repairs map[machine][]time.Time
	// heard has, by node, the last report and when it was first seen.
	heard patience.Each[string, string]
	// computed has the digests that digestsOf computed last.
	computed computed
}

// digests are what a file-syncer reports about a node that has all files of its revision.
type digests struct{ manifest, directory string }

// computed has the digests of objects of the informers, which replace an object, never change it.
type computed struct {
	configMaps []*corev1.ConfigMap
	secrets    []*corev1.Secret
	digests    *digests
}

// machine is a Node object. A machine that is replaced under its own name has another one.
type machine struct {
	name string
	uid  types.UID
}

// New returns the controller that compares the files on the nodes, as the file-syncers report them, with the revisions
// that the nodes are at. It repairs one node at a time, by making library-go's installer controller install the node's
// revision again.
func New(o Options) factory.Controller {
	dependencies.Require(o)
	return reconciler.New(name, o.Operator, o.Recorder, newController(o).sync,
		o.ConfigMaps.Informer(), o.Secrets.Informer(), o.Pods.Informer(), o.Nodes.Informer())
}

func newController(o Options) *controller {
	return &controller{
		Options: o, since: patience.Each[string, bool]{}, failing: patience.Each[string, bool]{},
		heard: patience.Each[string, string]{}, repairs: map[machine][]time.Time{},
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
		return err
	}
	if err := c.deletePastFailures(ctx, status); err != nil {
		return err
	}
	found, waiting, wait, err := c.damagedNodes(status)
	if err != nil {
		return err
	}
	problems, again, err := c.problems(status)
	if err != nil {
		return err
	}
	wait = patience.Sooner(wait, again)
	postponed, next, err := c.repairFirst(ctx, found)
	if err != nil {
		return err
	}
	problems, wait = slices.Concat(problems, waiting, postponed), patience.Sooner(wait, next)
	if wait > 0 {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), wait)
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name, conditionOf(problems))
}

// repairFirst repairs the first node that was repaired fewer than maxRepairs times in repairPeriod, and returns a
// problem for each one before it. next is the time until one of those may be repaired.
func (c *controller) repairFirst(ctx context.Context, nodes []damagedNode) (
	problems []problem, next time.Duration, err error,
) {
	now := c.Clock.Now()
	for _, node := range nodes {
		recent := slices.DeleteFunc(c.repairs[node.machine], func(at time.Time) bool { return now.Sub(at) >= repairPeriod })
		c.repairs[node.machine] = recent
		if len(recent) < maxRepairs {
			repaired, err := c.repairNode(ctx, node)
			if err != nil {
				return nil, 0, err
			}
			if repaired {
				c.repairs[node.machine] = append(recent, now)
				c.Repaired()
				delete(c.since, node.machine.name)
			}
			return problems, next, nil
		}
		left := recent[0].Add(repairPeriod).Sub(now)
		next = patience.Sooner(next, left)
		problems = append(problems, problem{"RepairedTooOften", fmt.Sprintf(
			"node/%s: %s, and its files were repaired %d times within the last hour: find out what changes files below "+
				"/etc/kubernetes there; the next repair is in %s",
			node.machine.name, node.text, maxRepairs, left.Round(time.Minute))})
	}
	return problems, next, nil
}

// repairNode repairs a node unless a live read shows that another one is being repaired.
func (c *controller) repairNode(ctx context.Context, node damagedNode) (repaired bool, err error) {
	_, live, _, err := c.Operator.GetStaticPodOperatorStateWithQuorum(ctx)
	if err != nil {
		return false, err
	}
	if node.status.TargetRevision != 0 {
		return true, c.retryInstallation(ctx, node)
	}
	if repairing(live) {
		return false, nil
	}
	rollsOut, err := c.rollsOut(live)
	if err != nil || rollsOut && !node.missing {
		return false, err
	}
	return true, c.repair(ctx, node, live)
}

// ensureReports creates the ConfigMap for the file-syncers' reports.
func (c *controller) ensureReports(ctx context.Context) error {
	reports, err := c.reports()
	if err != nil || reports != nil {
		return err
	}
	_, err = c.Client.ConfigMaps(operand.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: operand.Namespace, Name: filesyncer.ReportConfigMap,
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating configmap/%s in %s: %w", filesyncer.ReportConfigMap, operand.Namespace, err)
	}
	return nil
}

// digestsOf returns the digests of a revision on a node, nil if its objects are not complete. It computes them only if
// an object differs: each status that a kubelet writes asks, and the answer is a third of the CPU time at rest.
func (c *controller) digestsOf(revision int32) (*digests, error) {
	configMaps, err := copies(operand.ConfigMap, revision, c.ConfigMaps.Lister().ConfigMaps(operand.Namespace))
	if err != nil {
		return nil, err
	}
	secrets, err := copies(operand.Secret, revision, c.Secrets.Lister().Secrets(operand.Namespace))
	if err != nil {
		return nil, err
	}
	if slices.Equal(configMaps, c.computed.configMaps) && slices.Equal(secrets, c.computed.secrets) {
		return c.computed.digests, nil
	}
	c.computed = computed{configMaps: configMaps, secrets: secrets}
	// The installer could not install an incomplete revision either, and says so.
	if installed, err := operand.InstalledOf(configMaps, secrets, revision); err == nil {
		c.computed.digests = &digests{
			manifest:  nodefiles.Digest(nodefiles.Files{operand.ManifestFile: installed.Manifest}),
			directory: nodefiles.Digest(installed.Files),
		}
	}
	return c.computed.digests, nil
}

// copies returns those of a revision's objects of one kind that exist.
func copies[T any](
	kind operand.Kind, revision int32, lister interface{ Get(name string) (*T, error) },
) ([]*T, error) {
	var found []*T
	for _, name := range operand.DeliveredBy(kind, operand.Revisioned) {
		object, err := operatorclient.Find(lister, strings.ToLower(string(kind)), operand.Namespace,
			fmt.Sprintf("%s-%d", name, revision))
		if err != nil {
			return nil, err
		}
		if object != nil {
			found = append(found, object)
		}
	}
	return found, nil
}

// repair makes the installer controller install the node's revision again, by setting it as the node's target. That
// controller takes a revision as installed if the installer pod of the node and revision has succeeded, so that pod
// goes first. The node's revision itself may not decrease, by the validation of NodeStatus, and only one node may have
// a target. A rollout that is at another node goes on there when the repair has ended.
func (c *controller) repair(
	ctx context.Context, node damagedNode, live *operatorv1.StaticPodOperatorStatus,
) error {
	revision := node.status.CurrentRevision
	if err := c.deleteInstallers(ctx, node.machine.name, revision); err != nil {
		return err
	}
	status := applyoperatorv1.StaticPodOperatorStatus().WithNodeStatuses(applyoperatorv1.NodeStatus().
		WithNodeName(node.machine.name).WithCurrentRevision(revision).WithTargetRevision(revision))
	for _, other := range live.NodeStatuses {
		if other.TargetRevision != 0 && other.NodeName != node.machine.name {
			status.WithNodeStatuses(applyoperatorv1.NodeStatus().
				WithNodeName(other.NodeName).WithCurrentRevision(other.CurrentRevision).WithTargetRevision(0))
		}
	}
	manager := factory.ControllerFieldManager(name, "repair")
	if err := c.Operator.ApplyStaticPodOperatorStatus(ctx, manager, status); err != nil {
		return fmt.Errorf("setting the target of node/%s in cloudcontrollermanager/cluster: %w", node.machine.name, err)
	}
	c.Recorder.Warningf("NodeFilesRepaired", "Installing revision %d on node/%s again: %s",
		revision, node.machine.name, node.text)
	return nil
}
