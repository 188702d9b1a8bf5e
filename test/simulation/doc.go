// Package simulation runs the whole operator in simulated time: hours of a cluster in seconds, with faults that meet at
// moments that nobody would choose. It has no code but its tests.
//
//	real code                                                model
//
//	operator.Run under operatorlock ──────────┐
//	  library-go, informers, clients          │              Deployment, its pods and containers
//	  file of the leader's memory             │              kube-controller-manager: silent Nodes, tokens, garbage
//	installer, handover, remove, file-syncer ─┤ JSON over    cluster-version-operator: the manifests, applied once
//	  nodefiles, locks, a directory per node  ├ RoundTripper administrators, cluster-config-operator
//	client-go's leader election of each CCM ──┘              kubelets: static pods from the directory, mirror pods,
//	                     │                                     ordinary pods, logs, restarts with back-off
//	            test/apitest, the API in memory              CCMs: start, standby, login, controllers, log, /healthz
//	              the CRD's own merge and rules              the cloud: machines, credentials, outages
//	              the roles of the manifests                 the network between them
//	              their policies, by the API server's code
//
// Everything runs in one bubble of testing/synctest. Its clock advances when every goroutine waits, so a run takes as
// long as its work: about two CPU seconds for an installation on three nodes, and as many for an hour at rest.
//
// The stories of test/transitions, which a development cluster has played too, show whether the models are right.
//
// The world checks its rules at every virtual second; rules_test.go has them, and rest_test.go those of a rest. A rule
// compares what the operator says and does with the world, never with another word of the operator. Each rule has a
// scenario that breaks it. Each fault asserts that it had an effect: one that does nothing makes every operator look
// good.
//
// A seed draws the faults and their moments. The interleaving of goroutines is not drawn, so a failing seed may pass
// the next time: repeat it. It prints its timeline, its faults and the command that runs it again:
//
//	make simulate SEEDS=17 KIND=busy-day
//
// A long day plays seeds in one cluster, which rests for hours between them. A long run plays days, and chooses those
// whose pairs of faults have been seen seldom.
package simulation
