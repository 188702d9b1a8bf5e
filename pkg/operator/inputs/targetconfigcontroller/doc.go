// Package targetconfigcontroller renders the candidate for the next revision: it gathers the inputs, operand.Render
// checks and renders them, and the controller applies the result as a whole. It alone writes revisioned objects.
//
// If Render rejects an input, the controller renders the last accepted version instead, so other changes still roll
// out. Conditions report the diagnostics, one condition for each diagnostic.Cause.
//
// # The gate
//
// A cloud-controller-manager (CCM) starts with a cloud configuration, credentials, trusted CAs, an image and flags. A
// change of these becomes a revision only after a preflight, in which a CCM runs with the change beside the one that
// works: a process of ours, or of the predecessor, leads, and another node has a revision (View.WorkingRevision). The
// gate decides whether the current inputs pass. It remembers the hold timer, the time when the last CCM
// began or ceased to work, and the record of package trial.
//
// First, accepted versions replace the inputs that the record rejects, and the others go on without them (classify,
// withoutRejected):
//
//	| if                                                         | the gate                                           |
//	|------------------------------------------------------------|----------------------------------------------------|
//	| the latest revision with them failed on its first node     | goes back to what the other nodes run, at once     |
//	| a preflight has failed with some of them                   | replaces those, degrades, and repeats it later     |
//	| a preflight with some of them showed nothing               | replaces those too, but does not degrade           |
//
// Not replaced are those that an administrator has accepted and, once no CCM has worked for 20 s, those with which a
// preflight showed nothing. For what results, the first row that applies decides (evidence.next):
//
//	| if                                                         | the gate                                           |
//	|------------------------------------------------------------|----------------------------------------------------|
//	| nothing has changed of what the CCM starts with            | passes them, and withdraws an undone preflight     |
//	| the CCM that works has them: a change was undone           | passes them                                        |
//	| a login with their credentials failed, and its pause lasts | holds everything, and after 90 s only them         |
//	| an administrator has accepted what failed or waits         | passes them, and tells what else was not tried     |
//	| no preflight is possible on the platform, or of them       | passes them, and tells so if a CCM works           |
//	| their preflight was successful                             | passes them                                        |
//	| one showed nothing, and no CCM has worked for 20 s         | passes them, and tells that nothing has proved them|
//	| their preflight has run for 20 s, and no CCM works         | passes them, and tells that nothing has proved them|
//	| their preflight has run for 90 s                           | holds only them                                    |
//	| their preflight runs                                       | holds everything                                   |
//	| no CCM works, and one may have until 20 s ago              | holds everything, because the lead may be moving   |
//	| no CCM works, so nothing can break                         | passes them, without an event                      |
//	| otherwise                                                  | submits them to a preflight, and holds them        |
//
// A rejected login or revision is remembered for an hour after the verdict, also while its inputs are undone: the same
// inputs would lock the account, or break the node, again. The latest revision is remembered until another follows. If
// the cloud also rejects the login of the working CCM, a failed login is repeated at once: the new credentials may be
// valid by now, and nothing else can help.
//
// Before a take-over, the CCM that works is the predecessor's, and everything has changed.
//
// An administrator may also accept a likely mistake that a check rejects. Then a preflight tests it; without a
// preflight, the value to accept ends in "-unproved".
package targetconfigcontroller
