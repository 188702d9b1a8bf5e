// Package noderepair installs a revision again on a node whose files differ from it: the static pod's manifest or a
// file of the revision was edited or deleted, the machine was replaced under its name, or etcd was restored.
package noderepair

import (
	"context"
	"errors"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

const (
	// Condition is True while a node's files differ and their repair waits, because of earlier repairs or a rollout, and
	// while a file-syncer cannot update its files or does not report.
	Condition = "NodeFilesDegraded"

	name = "NodeRepair"

	// filesPatience is how long files must differ, or a file-syncer fail: one that has just started has not reported yet.
	filesPatience = 30 * time.Second
	// maxSilence is how old a report may be until its file-syncer counts as dead.
	maxSilence = 3 * filesyncer.ReportPeriod

	// replacedPatience is how long a Node that is newer than its installer pod may lack the static pod: it takes seconds.
	replacedPatience = 10 * time.Second

	// waitingPatience is how long files must differ before the condition says that their repair waits for a rollout.
	waitingPatience = time.Minute

	// maxRepairs limits the repairs of a node within repairPeriod. Each of them restarts a static pod.
	maxRepairs   = 3
	repairPeriod = time.Hour
)

// Inertia declares the inertia of the condition.
var Inertia = operatorclient.Inertia{Condition: operatorclient.DefaultInertia}

type controller struct {
	dependencies.Deps
	repaired func()
	// since is when the files of a node were first seen to differ, by node.
	since patience.Each[string, bool]
	// failing is when the file-syncer of a node was first seen to fail, by node.
	failing patience.Each[string, bool]
	// repairs are the times of a Node's repairs within repairPeriod, by name and UID: a replaced machine has another UID.
	repairs map[string][]time.Time
	// heard is the last report of a node, since when it was seen, by node.
	heard    patience.Each[string, string]
	computed computed
}

// New returns the controller that compares the files on the nodes, as the file-syncers report them, with the revisions.
// On one node at a time, it makes library-go's installer controller install the revision again, and calls repaired.
func New(d dependencies.Deps, repaired func()) factory.Controller {
	dependencies.Require(d, repaired)
	core := d.Target.Core().V1()
	return reconciler.New(name, d.Operator, d.Recorder, newController(d, repaired).sync,
		core.ConfigMaps().Informer(), core.Secrets().Informer(), core.Pods().Informer(), d.Nodes.Informer())
}

func newController(d dependencies.Deps, repaired func()) *controller {
	return &controller{
		Deps: d, repaired: repaired, since: patience.Each[string, bool]{}, failing: patience.Each[string, bool]{},
		heard: patience.Each[string, string]{}, repairs: map[string][]time.Time{},
	}
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	if managed, _, err := observedplatform.Managed(c.Operator); err != nil || !managed {
		return err
	}
	s, err := c.observe()
	if err != nil {
		return err
	}
	if err := errors.Join(c.ensureReports(ctx, s), c.deletePastFailures(ctx, s)); err != nil {
		return err
	}
	found, waiting, wait, err := c.damagedNodes(s)
	if err != nil {
		return err
	}
	postponed, next, err := c.repairFirst(ctx, &s, found)
	if err != nil {
		return err
	}
	problems, again := c.problems(s)
	reconciler.After(syncCtx, patience.Sooner(wait, patience.Sooner(next, again)))
	return operatorclient.ApplyConditions(ctx, c.Operator, name, conditionOf(slices.Concat(problems, waiting, postponed)))
}

type nodeState struct {
	operatorv1.NodeStatus
	// node is nil if the Node does not exist, static if it has no static pod.
	node   *corev1.Node
	static *corev1.Pod
	// report is the last one of its file-syncer, and reportText its text, "" if there is none.
	report     filesyncer.Report
	reportText string
}

func (n *nodeState) isReady() bool {
	return controlplane.KubeletOf(n.node) == controlplane.KubeletReady
}

// snapshot is what a sync decides by.
type snapshot struct {
	controlplane.View
	latest int32
	nodes  []nodeState
	// reports is nil if the file-syncers' ConfigMap does not exist.
	reports *corev1.ConfigMap
}

func (c *controller) observe() (s snapshot, err error) {
	if s.View, err = c.View(); err != nil {
		return s, err
	}
	s.latest = s.Status().LatestAvailableRevision
	s.reports, err = c.ConfigMap(filesyncer.ReportConfigMap)
	for _, n := range s.Status().NodeStatuses {
		report, text := reportOf(s.reports, n.NodeName)
		s.nodes = append(s.nodes, nodeState{n, s.Node(n.NodeName), s.StaticPod(n.NodeName), report, text})
	}
	return s, err
}

func (s *snapshot) installersOf(node string, revision int32) []*corev1.Pod {
	return slices.DeleteFunc(s.Installers(), func(pod *corev1.Pod) bool {
		return !controlplane.Installs(pod, node, revision)
	})
}
