// Package preflight runs the cloud-controller-manager (CCM) with a changed candidate in an ordinary pod on one node, to
// see whether it can log in to its cloud and look up the nodes, which no parser can check. After its start, a standby
// sends its cloud no request until it leads; on some clouds it does not even log in.
//
// A rejected login becomes a condition in these steps: the termination message, or the log of a process that runs, both
// masked by package maskedpods; errorOf, which finds the last error in it; nodecause.ClassOf, which names its class;
// failed, which makes it a verdict; Conclude of package trial, which records it as a rejection; and
// targetconfigcontroller, which reports that as CredentialsDegraded.
//
// targetconfigcontroller writes the candidate to the record of package trial. This controller runs the pod, writes the
// verdict to the record, and deletes the pod, the lease and the candidate's data. All that it needs is in the API, so
// the operator's next process continues.
//
// pod.go runs the pod, judge.go judges it, and compare.go asks whether the running CCM fails, too. A revision is
// judged by firstnode.go before it leads, and by proof.go and prove.go when it leads.
//
// # The proof of a revision
//
// A rollout whose revision changes the cloud configuration, the image or the flags waits at its second node until the
// CCM of the first one has led well, see proving.next. Changes of only credentials and CAs roll out without that, the
// leader's node last. The Proof of package trial has the state. The first row that applies decides:
//
//	| state            | if                                                                            | next state |
//	|------------------|-------------------------------------------------------------------------------|------------|
//	| none             | only credentials or CAs change, a former CCM leads, a preflight has logged in | Proven     |
//	| none             | the same, and no preflight has                                                | Unproved   |
//	| none             | the first node has settled, and others have a former revision                 | Awaited    |
//	| Held             | an administrator has accepted what the revision changes                       | Unproved   |
//	| Held             | it leads well, and another node's process that ended is not Ready for 1 min   | Unproved   |
//	| Held             | its process led and ended, and one of the former leads well 10 min later      | Awaited    |
//	| Held             | the same, for the second time                                                 | Failed     |
//	| Held             | it hung, and a former process has started what it had not                     | Failed     |
//	| Held             | it has lasted for 10 min                                                      | Unproved   |
//	| Awaited, Leads   | its process led and ended, because of the change                              | Failed     |
//	| Awaited, Leads   | it led and was killed within 40 s, and within 3 min of the proof's start      | Awaited    |
//	| Awaited, Leads   | it led and ended, and nothing tells that the change was to blame              | Held       |
//	| Leads            | it has led for 15 s with the former leader's controllers, or for 130 s untold | Proven     |
//	| Leads            | another process has the lead within 1 min, and 3 min of the proof's start     | Awaited    |
//	| Leads            | another process has the lead                                                  | Held       |
//	| Leads            | it has not started everything within 2 min                                    | Held       |
//	| Leads            | it no longer leads, and no other process has led within 10 min                | Unproved   |
//	| Awaited          | the process of the first node leads                                           | Leads      |
//	| Awaited          | lease is free, or another node's process that ended was not Ready, for 1 min  | Unproved   |
//	| Awaited          | the lead has not moved for 3 min, while the lease was no other client's       | Unproved   |
//	| Proven, Unproved | within an hour, two leaders with it have ended soon after they started        | Failed     |
//	| Failed           | an administrator has accepted what the revision changes                       | Unproved   |
//
// In Awaited, package leadership moves the lead to the first node, and in Held away from it, unless the process leads
// again and another one cannot start. Failed rejects the revision, and all nodes go back. After Proven and Unproved,
// the rollout continues.
package preflight
