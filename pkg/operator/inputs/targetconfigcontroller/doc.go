// Package targetconfigcontroller renders the candidate for the next revision: it gathers the inputs, operand.Render
// checks and renders them, and the controller applies the result as a whole. It is the only writer of revisioned
// objects.
//
// If Render rejects an input, the controller renders the last accepted version instead, so other changes still roll
// out. Conditions report the diagnostics, one condition for each diagnostic.Cause.
//
// # The gate
//
// A cloud-controller-manager (CCM) starts with a cloud configuration, credentials, trusted CAs, an image and flags. A
// change of these becomes a revision only after a preflight, in which a CCM runs with the change beside the one that
// works. The gate decides whether the current inputs pass. It remembers only since when something waits; the rest is in
// the record of package trial.
//
// First, what is rejected in the record is replaced by its accepted version, until it changes, an administrator accepts
// it, or a repeated preflight succeeds. It degrades. What waits because its preflight showed nothing is replaced too,
// and does not degrade; where no CCM has worked for 20 s, it is not replaced. If a revision failed on its first node,
// the candidate is what the other nodes run. What the working CCM has was undone, and nothing of it is replaced.
//
// Then the first row that applies decides about the candidate that is left, see evidence.next:
//
//	| if                                                                  | step   |
//	|---------------------------------------------------------------------|--------|
//	| nothing has changed of what the CCM starts with, or was undone      | settle |
//	| it is what the nodes run that a failed revision has not reached     | pass   |
//	| its login was rejected, and is not to be repeated yet               | pause  |
//	| an administrator has accepted what changes                          | pass   |
//	| no preflight is possible on the platform, or of it                  | settle |
//	| its preflight was successful                                        | pass   |
//	| its preflight showed nothing, and no CCM works                      | pass   |
//	| its preflight has run for 20 s, and no CCM works                    | pass   |
//	| its preflight runs                                                  | wait   |
//	| no CCM works, so nothing can break                                  | settle |
//	| otherwise                                                           | submit |
//
// What passes becomes a revision, and an event tells if nothing has proved it. So does what settles, and an ended
// preflight is withdrawn, or that of what is rejected is repeated when it is due. What is submitted waits. Everything
// waits for 90 s, and then only what is tried: the rest passes without it.
//
// A rejected login or revision is remembered for an hour after its inputs were undone: the same inputs would lock the
// account, or break the node, again. Where the cloud rejects the login of the CCM that works too, a failed login is
// repeated at once: the new credentials may be valid by now, and nothing else is the cure.
//
// An administrator may also accept a likely mistake that a check rejects. Then a preflight judges it; where there is
// none, the value to accept says so.
package targetconfigcontroller
