package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

func TestTheTimesOfARushAreSummarized(t *testing.T) {
	var times []time.Duration
	for i := range 200 {
		times = append(times, time.Duration(i+1)*time.Second)
	}
	require.Equal(t, "p50 100.0 s, p90 180.0 s, p99 198.0 s, max 200.0 s", distribution(times, 200, time.Minute))
	require.Equal(t, "200 of 201 after 60 s: p50 100.0 s, p90 180.0 s, p99 198.0 s, max 200.0 s", distribution(times, 201, time.Minute))
	require.Equal(t, "p50 1.0 s, p90 1.0 s, p99 1.0 s, max 1.0 s", distribution(times[:1], 1, time.Minute))
	require.Equal(t, "0 of 3 after 60 s", distribution(nil, 3, time.Minute))
}

func TestTheCallsOfARushAreCounted(t *testing.T) {
	require.Equal(t, "1.5 calls a Node", describeCalls([]devcluster.Call{{Status: 200}, {Status: 200}, {Status: 200}}, 2))
	require.Equal(t, "1.5 calls a Node, 1 of 3 refused", describeCalls([]devcluster.Call{{Status: 200}, {Status: 429}, {Status: 200}}, 2))
}

func TestANodeOfARushWaitsForTheCCM(t *testing.T) {
	node := newNode(0)
	require.False(t, isInitialized(node))
	node.Spec.Taints = []corev1.Taint{{Key: "another"}}
	require.True(t, isInitialized(node))
}

func TestNumbersOfNodes(t *testing.T) {
	got, err := numbers("50 200")
	require.NoError(t, err)
	require.Equal(t, []int{50, 200}, got)
	_, err = numbers("50 many")
	require.EqualError(t, err, `"many" is no number of Nodes`)
	_, err = numbers("")
	require.EqualError(t, err, "no number of Nodes")
}
