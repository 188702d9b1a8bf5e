// Package nodedeletion is the brake on deletions of Nodes. A cloud-controller-manager (CCM) deletes each Node that is
// not Ready if the cloud does not know its machine, without further checks: with credentials of another project, in a
// wrong region or after an empty answer it would delete all of them. An admission policy of the payload rejects each
// deletion by the CCM until this package has confirmed it by an annotation.
//
// A deletion is confirmed if the same CCM process still finds living machines. A probe shows that by a taint: a CCM
// looks up the machine of a Node that has the taint for uninitialized nodes, whatever the taint's effect, and removes
// the taint if the cloud knows the machine. With the effect PreferNoSchedule the taint repels no pod. A probe is about
// Nodes that the CCM wants to delete (targets) and about living ones (references).
//
// Each Node has a state, which follows from its former state and from what is known about it (evidence). The first row
// that applies decides; machine.go has the rows and the evidence, pace.go the pace. Every state may follow every other
// one, because all evidence may change between two looks. Only confirmed depends on the former state.
//
//	| state         | reason             | if                                                                        |
//	|---------------|--------------------|---------------------------------------------------------------------------|
//	| idle          |                    | the kubelet is ready                                                      |
//	| allowed       |                    | an administrator has annotated the Node                                   |
//	| uninitialized |                    | no CCM has initialized the Node                                           |
//	| idle          |                    | the CCM does not want to delete the Node                                  |
//	| known         |                    | the leader found the machine, and has announced nothing since             |
//	| held          | NodeReports        | the kubelet has reported NotReady for 55 s, and the machine was not found |
//	| settling      |                    | the kubelet reports NotReady, or has been silent for less than 20 s       |
//	| undecided     |                    | no process of the CCM renews the lease                                    |
//	| held          | LivingNodesUnknown | in two probes in a row, the leader did not find the references            |
//	| confirmed     |                    | it was confirmed before                                                   |
//	| held          | TooManyNodes       | more than half of the kubelets are silent, for less than ten minutes      |
//	| undecided     |                    | a rollout is in progress, and it or the silence is younger than 5 minutes |
//	| confirmed     |                    | the leader found the references and not the machine, and the pace permits |
//	| held          | NoLivingNode       | there is no living node to compare with, so the turn has not come         |
//	| held          | TooManyNodes       | more than half of the kubelets are silent, so the turn has not come       |
//	| held          | OneAtATime         | where there is no probe, the turn has not come for ten minutes            |
//	| undecided     |                    | no probe has ended yet, or the turn has not come                          |
//
// Every wait ends. The times are those of the states; a probe and a pass of the CCM come on top. Three ends are events,
// because no time makes the deletion safe: a Node that no CCM ever found may have another name in the cloud, a kubelet
// that reports is alive, and a cloud that denies living machines proves nothing. A condition reports each, except for a
// silent Node that has neither a providerID nor the taint, such as a bare-metal worker: the command explain does.
//
//	| what waits              | ends                                                                                  |
//	|-------------------------|---------------------------------------------------------------------------------------|
//	| uninitialized           | when a CCM initializes the Node; NodeInitializationDegraded names it                  |
//	| known                   | with the CCM's next announcement                                                      |
//	| held NodeReports        | when the kubelet is silent or ready, or the CCM finds the machine                     |
//	| settling                | after 55 s                                                                            |
//	| undecided               | when a CCM leads, after 5 minutes of a rollout, with the next probe, or with the turn |
//	| held LivingNodesUnknown | 30 s after the cloud finds living nodes again                                         |
//	| held TooManyNodes       | after 10 minutes, then a twentieth in a minute, or a Node in 10 without a probe       |
//	| held NoLivingNode       | after 10 minutes, then a Node in 10, if any kubelet is ready; if none is, when one is |
//	| held OneAtATime         | after 10 minutes for each Node before it                                              |
//
// There is no probe on Azure, where the cloud-node-manager would answer, nor where the CCM does not look for machines
// again. There, the CCM's announcement is its answer, and no Node may go while the CCM also announces the deletion of a
// Node whose kubelet reports. One Node may go in ten minutes. A twentieth may go in a minute, if the CCM has denied
// each of them ever since its kubelet fell silent, and if it answers for others: it finds the machine of another
// kubelet that is not ready, or it has denied such Nodes for ten minutes and none of their kubelets has returned.
//
// A CCM that announces nothing has ten minutes for each silent Node in turn: a lasting permission would hold back
// nothing once the cloud does not find living machines. Only a deletion shows that it denies a machine. A machine that
// the CCM knows to be shut down has to be announced, as everywhere.
//
// A new process of the operator reads from the API what the former one knew: which Nodes the CCM has announced since
// when, which of them are gone, and since when a kubelet is silent.
//
// An administrator's permission for many deletions replaces the rows about the cluster, and missing references.
package nodedeletion
