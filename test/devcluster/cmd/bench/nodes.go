package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// repetitions is how often the end of the leading process is measured.
const repetitions = 3

// measureNodes measures what happens on the nodes: the start, a rollout, and the ends of the leading process and of its
// node. It prints a timeline of the start and one of a rollout.
func measureNodes(ctx context.Context, o options) (err error) {
	c, err := startCluster(ctx, o, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop(context.WithoutCancel(ctx))) }()
	recording, stop := context.WithCancel(ctx)
	defer stop()
	t := c.record(recording)
	for _, part := range []func(context.Context, *timeline) error{
		c.measureStart, c.measureRollout, c.measureLeaderKills, c.measureLeadersNode,
	} {
		if err := part(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) measureStart(ctx context.Context, t *timeline) error {
	if err := c.LoadImages(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := c.InstallPayload(ctx); err != nil {
		return err
	}
	if err := c.awaitRevision(ctx, 1); err != nil {
		return err
	}
	ended := time.Now()
	c.options.row("payload applied to three nodes at revision 1", "%.0f s", ended.Sub(began).Seconds())
	runs, seenRunning := t.first(began, "operator process", "runs")
	initialized, seen := t.first(began, " taint", "initialized")
	if !seenRunning || !seen {
		return fmt.Errorf("the operator's start (%t) or the first initialized node (%t) was not seen", seenRunning, seen)
	}
	c.options.row("operator runs to the first control-plane node initialized", "%.1f s",
		initialized.Sub(runs).Seconds())
	t.print(c.options.out, "From the payload to three nodes at revision 1", began)
	return c.measureSyncer()
}

func (c *cluster) measureSyncer() error {
	pids, err := findProcesses(syncerProcess, os.Getpid())
	if err != nil {
		return err
	}
	for _, pid := range pids {
		u, err := usageOf(pid)
		if err != nil {
			return err
		}
		c.options.row("file-syncer's memory on a control-plane node", "%s", u)
	}
	return nil
}

func (c *cluster) measureRollout(ctx context.Context, t *timeline) error {
	state, err := c.reader.Read(ctx)
	if err != nil {
		return err
	}
	if err := c.awaitLeader(ctx, t, ""); err != nil {
		return err
	}
	configMaps := c.kube.CoreV1().ConfigMaps("openshift-config")
	config, err := configMaps.Get(ctx, "cloud-provider-config", metav1.GetOptions{})
	if err != nil {
		return err
	}
	config.Data["config"] += "max-shared-lb = 3\n"
	began := time.Now()
	if _, err := configMaps.Update(ctx, config, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := c.awaitRevision(ctx, state.Latest+1); err != nil {
		return err
	}
	reached := time.Now()
	if err := c.awaitLeader(ctx, t, ""); err != nil {
		return err
	}
	samples := t.since(began)
	serving, leading := extremes(samples)
	c.options.row("changed key to three nodes Ready at it", "%.0f s", reached.Sub(began).Seconds())
	c.options.row("without an acting leader in that rollout", "%.1f s", leaderless(samples, time.Now()).Seconds())
	c.options.row("fewest serving, most leading processes in that rollout", "%d, %d", serving, leading)
	t.print(c.options.out, "A changed key to three nodes at it", began)
	return nil
}

// awaitLeader waits until a process leads that is not on the node.
func (c *cluster) awaitLeader(ctx context.Context, t *timeline, except string) error {
	err := wait.PollUntilContextTimeout(ctx, sampleInterval, timeout, true,
		func(context.Context) (bool, error) { return t.leads(except), nil })
	if err != nil {
		return fmt.Errorf("waiting for a leader: %w", err)
	}
	return nil
}

// leader returns the node of the lease's holder.
func (c *cluster) leader(ctx context.Context) (string, error) {
	lease, err := c.kube.CoordinationV1().Leases(targetNamespace).Get(ctx, "cloud-controller-manager", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if lease.Spec.HolderIdentity == nil {
		return "", errors.New("the lease has no holder")
	}
	node, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return node, nil
}

func (c *cluster) measureLeaderKills(ctx context.Context, t *timeline) error {
	var gaps []string
	for range repetitions {
		// Two minutes without a failure, so that the kubelet's back-off does not grow.
		if err := pause(ctx, settle); err != nil {
			return err
		}
		leader, err := c.leader(ctx)
		if err != nil {
			return err
		}
		pids, err := findProcesses(operandProcess, c.Node(leader).PID())
		if err != nil {
			return err
		}
		if len(pids) != 1 {
			return fmt.Errorf("%d cloud-controller-managers run on node %s", len(pids), leader)
		}
		began := time.Now()
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			return fmt.Errorf("killing process %d: %w", pids[0], err)
		}
		// The killed process answers until its last sample.
		if err := pause(ctx, 2*sampleInterval); err != nil {
			return err
		}
		if err := c.awaitLeader(ctx, t, ""); err != nil {
			return err
		}
		gaps = append(gaps, fmt.Sprintf("%.1f s", leaderless(t.since(began), time.Now()).Seconds()))
	}
	c.options.row("without an acting leader after kill -9 of the leading process", "%s", strings.Join(gaps, ", "))
	return nil
}

func (c *cluster) measureLeadersNode(ctx context.Context, t *timeline) error {
	if err := pause(ctx, settle); err != nil {
		return err
	}
	leader, err := c.leader(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := c.Node(leader).Kill(); err != nil {
		return err
	}
	if err := c.awaitLeader(ctx, t, leader); err != nil {
		return err
	}
	ended := time.Now()
	notReady, seen := t.first(began, leader+" Node", "NotReady")
	after := "its Node was still Ready"
	if seen {
		after = fmt.Sprintf("%.0f s after its Node was NotReady", ended.Sub(notReady).Seconds())
	}
	c.options.row("without an acting leader after the crash of its node", "%.0f s, %s", ended.Sub(began).Seconds(), after)
	return c.Node(leader).Restart(ctx)
}
