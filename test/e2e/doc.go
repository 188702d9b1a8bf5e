// Package e2e tests the operator's main task end to end: a development cluster with three control-plane nodes, the
// operator with its own manifests and image, and the real OpenStack cloud-controller-manager with a fake cloud. It
// requires root. TestStory does so on every platform whose cloud has a stand-in.
//
// The subtests of TestOpenStack run in order on one cluster. Each starts and ends with every node at the latest
// revision and a healthy ClusterOperator. The environment variable E2E_LONG adds long subtests, and the stories
// TestNodesComeAndGo, TestRestore, TestRestoreWithoutTheOperator, TestSingleNode, TestLeaderKills and TestFaults. Every
// other test has its own cluster.
//
// TestFaults is a table. `go test -run '^TestFaults$/cloud'` selects the rows with that word, and FAULTS_SLOW adds
// those of five minutes and more, and TestFaultsWithBackOff.
package e2e
