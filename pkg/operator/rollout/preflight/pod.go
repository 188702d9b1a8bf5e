package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// endTimeout is how long a kubelet may take to end a pod, whose grace period is 5 seconds.
const endTimeout = 30 * time.Second

// deadlineExceeded is the reason of a pod that its kubelet ended at spec.activeDeadlineSeconds
// (pkg/kubelet/active_deadline.go). An operator that watches the pod ends it sooner.
const deadlineExceeded = "DeadlineExceeded"

// podMemory is what this process has seen of a preflight's pod, by its UID.
type podMemory struct {
	// podSeen, containerStarted and leaseAcquired are when the pod was first seen, its container ran and it led.
	podSeen, containerStarted, leaseAcquired patience.Since[string]
	// podEnding is the pod that is being deleted, and forced the one that was deleted without its kubelet.
	podEnding patience.Since[string]
	forced    types.UID
}

// run takes the next step of the preflight. It returns the verdict, nil if there is none yet, and what it waits for.
func (s *state) run(ctx context.Context) (*trial.Verdict, string, error) {
	switch {
	case s.pod == nil:
		return s.create(ctx)
	case s.pod.DeletionTimestamp != nil || controlplane.IsMirror(s.pod) ||
		s.pod.Annotations[operand.PreflightDigestAnnotation] != s.record.Digest:
		return nil, "the end of the former pod/" + s.pod.Name, s.deletePod(ctx)
	case s.isUnwatched():
		return s.runAgain(ctx)
	}
	e, err := s.evidence(ctx)
	if err != nil {
		return nil, "", err
	}
	verdict, waitsFor := e.judge()
	if verdict != nil && verdict.Result != trial.Successful {
		verdict = s.compareWithLeader(ctx, verdict)
	}
	return verdict, waitsFor, nil
}

// create creates the pod. It first deletes the lease of a former preflight, whose process has ended.
func (s *state) create(ctx context.Context) (*trial.Verdict, string, error) {
	if err := s.deleteLease(ctx); err != nil {
		return nil, "", err
	}
	node := s.node()
	if node == "" {
		return nil, "a Ready control-plane node that is not cordoned", nil
	}
	pod, err := operand.PreflightPodOf(s.record.Secret)
	if err != nil {
		return nil, "", err
	}
	pod.Spec.NodeName = node
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, operand.PreflightDigestAnnotation, s.record.Digest)
	if s.record.Again {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, operand.PreflightAgainAnnotation, "true")
	}
	// Without the Secret, there is nothing to try.
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Secret", Name: s.record.Secret.Name, UID: s.record.Secret.UID,
	}}
	created, err := s.Kube.CoreV1().Pods(operand.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	switch {
	case err == nil:
		s.podSeen.See(string(created.UID), s.view.Now())
	case !apierrors.IsAlreadyExists(err):
		return nil, "", fmt.Errorf("creating pod/%s in %s: %w", pod.Name, operand.Namespace, err)
	}
	return nil, fmt.Sprintf("the start of pod/%s on node/%s", pod.Name, node), nil
}

// node returns the first Ready Node that is not cordoned, by name, "" if there is none. The leader's comes last, and
// that of the former verdict before it, because its network may have failed.
func (s *state) node() string {
	nodes := slices.DeleteFunc(slices.Clone(s.view.Nodes()), func(node *corev1.Node) bool {
		return controlplane.KubeletOf(node) != controlplane.KubeletReady || controlplane.IsCordoned(node)
	})
	if len(nodes) == 0 {
		return ""
	}
	leader, former := s.view.Record().Process.Node, s.record.Verdict
	rank := func(n *corev1.Node) int {
		switch {
		case n.Name == leader:
			return 2
		case former != nil && n.Name == former.Node:
			return 1
		}
		return 0
	}
	return slices.MinFunc(nodes, func(a, b *corev1.Node) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Name, b.Name))
	}).Name
}

// isUnwatched reports whether the pod ended while no operator watched it: this process found it ended, or its deadline
// has passed. Such an end says nothing about the candidate, because the state of the leader and the cloud is unknown.
func (s *state) isUnwatched() bool {
	hasEnded := controlplane.HasEnded(s.pod) || controlplane.ContainerStatus(s.pod).State.Terminated != nil
	if hasEnded && s.podSeen.Value() != string(s.pod.UID) {
		return true
	}
	s.podSeen.See(string(s.pod.UID), s.view.Now())
	return hasEnded && s.pod.Status.Reason == deadlineExceeded
}

// runAgain replaces a pod that no operator watched, once: each run logs in to the cloud.
func (s *state) runAgain(ctx context.Context) (*trial.Verdict, string, error) {
	if s.pod.Annotations[operand.PreflightAgainAnnotation] != "" {
		e := &evidence{now: s.view.Now(), pod: s.pod, since: s.view.Now()}
		return e.verdict(trial.Inconclusive, notStarted, "pod/%s ended twice while no operator watched it; check the pods "+
			"of the operator", s.pod.Name), "", nil
	}
	waitsFor := "the end of pod/" + s.pod.Name + ", which no operator watched"
	if err := s.deletePod(ctx); err != nil {
		return nil, waitsFor, err
	}
	s.record.Again = true
	return nil, waitsFor, s.record.Save(ctx, s.Kube.CoreV1())
}

// evidence returns what is known about the preflight now.
func (s *state) evidence(ctx context.Context) (*evidence, error) {
	uid := string(s.pod.UID)
	e := &evidence{
		now: s.view.Now(), pod: s.pod, since: s.podSeen.See(uid, s.view.Now()),
		changesImage: s.record.Inputs[diagnostic.Image] != "",
	}
	state := controlplane.ContainerStatus(s.pod).State
	if state.Running == nil && state.Terminated == nil {
		return e, nil
	}
	if state.Running != nil {
		e.startedAt = s.containerStarted.See(uid, s.view.Now())
	}
	if leads(s.lease, s.pod) {
		e.ledAt, e.heldFor = s.leaseAcquired.See(uid, s.view.Now()), leaseholder.HeldFor(s.lease)
	} else if s.lease != nil {
		e.holder = leaseholder.Identity(s.lease)
	}
	text, _, unread := operandlog.Read(ctx, s.Kube.CoreV1(), s.pod.Name)
	if unread != nil {
		e.unread = unread.Error()
	}
	var err error
	if state.Running != nil && s.view.Now().Sub(e.startedAt) >= lookupTimeout {
		if e.nodes, err = s.countNodes(ctx); err != nil {
			return nil, err
		}
	}
	e.log, err = s.mask(text)
	return e, err
}

// countNodes lists one Node: the API server tells how many it did not list.
func (s *state) countNodes(ctx context.Context) (int, error) {
	list, err := s.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, fmt.Errorf("counting the Nodes: %w", err)
	}
	return len(list.Items) + int(ptr.Deref(list.RemainingItemCount, 0)), nil
}

// deletePod deletes the pod, without its kubelet after endTimeout: the next preflight needs the name. The process may
// continue. It only reads, and it holds the preflights' lease, which makes the next preflight inconclusive.
func (s *state) deletePod(ctx context.Context) error {
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(s.pod.UID))}
	isForced := s.pod.DeletionTimestamp != nil
	if isForced {
		if s.view.Now().Sub(s.podEnding.See(string(s.pod.UID), s.view.Now())) < endTimeout || s.forced == s.pod.UID {
			return nil
		}
		options.GracePeriodSeconds = ptr.To[int64](0)
	}
	err := operatorclient.Delete(ctx, s.Kube.CoreV1().Pods(operand.Namespace).Delete, "pod", operand.Namespace,
		s.pod.Name, options)
	if err != nil || !isForced {
		return err
	}
	s.forced = s.pod.UID // It stays if it has a finalizer.
	s.Recorder.Warningf("PreflightPodForced", "deleted pod/%s without the kubelet of node/%s, which has not ended it "+
		"for %s; check the node", s.pod.Name, s.pod.Spec.NodeName, endTimeout)
	return nil
}

func (s *state) deleteLease(ctx context.Context) error {
	if s.lease == nil {
		return nil
	}
	return operatorclient.Delete(ctx, s.Kube.CoordinationV1().Leases(operand.Namespace).Delete, "lease",
		operand.Namespace, s.lease.Name, metav1.DeleteOptions{})
}
