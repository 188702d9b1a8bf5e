// Package e2e runs the operator's main job end to end: a development cluster with three control-plane nodes, the
// operator from its own manifests and image, and the real OpenStack cloud-controller-manager against a stand-in for its
// cloud. It needs root.
//
// The subtests of TestOpenStack run in order on one cluster, each from the state that the one before left: every node at the
// latest revision and the ClusterOperator clean. The environment variable E2E_LONG adds those that take long. TestNone,
// TestPlatforms and TestDigitalOceansToken have clusters of their own.
package e2e
