package codes

// A new entry takes the next number of its table, and keeps it for ever. An entry that goes leaves its code in retired,
// with what it was, so that no later one takes it: in logs, tickets and search engines the old meaning lives on.
// docs/reasons.md is written from these tables (make update-golden).

var retired = map[string]string{
	"CCM0157": "RolloutInProgress of NodeDeletionDegraded: a deletion waits for a rollout for five minutes at most",
}

// findings are the kinds of package diagnostic, and its causes for findings of no kind.
var findings = []struct{ id, kind, means, do string }{
	{
		"CCM0001", "Invalid",
		"the cloud-controller-manager rejects the value, or cannot read the file",
		"correct the value at the place that the finding names",
	},
	{
		"CCM0002", "Ambiguous",
		"a key has several values, and the cloud-controller-manager uses one of them",
		"keep the value that you mean and delete the others",
	},
	{
		"CCM0003", "Typo",
		"a likely slip: an unknown name close to a known one, or a value that the cloud is going to reject",
		"write the name or the value that the finding proposes",
	},
	{
		"CCM0004", "Redirected",
		"an endpoint would receive the credentials, although neither the credentials nor Infrastructure name it",
		"correct the endpoint, or name it in the credentials or in Infrastructure if you mean it",
	},
	{
		"CCM0016", "Contradictory",
		"the value differs from the one that Infrastructure has",
		"write the same value in both; if the difference is meant and works, nothing",
	},
	{
		"CCM0005", "Insecure",
		"a setting weakens the protection of the credentials",
		"remove the setting; if you mean it, nothing",
	},
	{
		"CCM0006", "Doubtful",
		"the cloud-controller-manager and its cloud accept the value, but it hardly does what is meant",
		"compare the value with what you want; if you mean it, nothing",
	},
	{
		"CCM0007", "Unknown",
		"no cloud-controller-manager of this release knows the name, so it has no effect",
		"delete it; if a newer release knows it, nothing",
	},
	{
		"CCM0008", "Legacy",
		"only the in-tree cloud provider read the key, so it is dropped",
		"delete it when you edit the configuration next",
	},
	{
		"CCM0009", "Rewritten",
		"the cloud-controller-manager gets another value than you wrote; the finding says why",
		"write the value that it gets, or nothing",
	},
	{
		"CCM0010", "Adapted",
		"every configuration is changed in this way for the cloud-controller-manager: a path, a default or a format",
		"nothing",
	},
	{
		"CCM0011", "CloudConfig",
		"the cloud configuration is missing, or the operator cannot use it as a whole",
		"create or correct the ConfigMap that the finding names",
	},
	{
		"CCM0012", "Credentials",
		"the credentials are missing, or the operator cannot use them as a whole",
		"create or correct the Secret that the finding names",
	},
	{
		"CCM0013", "TrustedCA",
		"a CA bundle is missing, no PEM, or too large",
		"correct the ConfigMap that the finding names",
	},
	{
		"CCM0014", "Image",
		"no image is known for a container",
		"name the image in spec.custom.image; otherwise use the release for this platform",
	},
	{
		"CCM0015", "Configuration",
		"what is needed besides is missing, or does not fit its schema",
		"correct the object and the field that the finding names",
	},
}

// reasons are those of the operator's conditions. docs/reasons.md sorts them by name.
var reasons = []struct{ id, reason, conditions, means, do string }{
	{
		"CCM0101", "Accepted", "CloudConfigNotices",
		"the configuration is in use, with remarks",
		"correct what the message names when you edit the configuration next",
	},
	{
		"CCM0102", "AllNodesAtLatestRevision", "NodeInstallerProgressing",
		"no rollout is under way",
		"nothing",
	},
	{
		"CCM0103", "AsExpected", "any",
		"nothing is wrong",
		"nothing",
	},
	{
		"CCM0104", "BindingMissing", "AdmissionPoliciesDegraded",
		"the binding of an admission policy was deleted, and the operator cannot create it",
		"read the message, which has the error; remove the policy from spec.overrides of clusterversion/version",
	},
	{
		"CCM0105", "Blocked", "Removing, RemovalDegraded",
		"the removal has not begun, because nodes wait to be initialized, or Services have load balancers",
		"let the named nodes be initialized, and delete the named Services; or set spec.managementState to Managed",
	},
	{
		"CCM0106", "CandidateIncomplete", "RevisionHeldBackDegraded",
		"an accepted configuration cannot become a revision yet",
		"read the condition of the controller that writes the named object: it has the error",
	},
	{
		"CCM0107", "CertificatesExpire", "TrustedCANotices",
		"certificates of a trusted CA bundle have expired or will soon",
		"replace them in the named ConfigMap",
	},
	{
		"CCM0108", "CrashLooping", "CrashLoopDegraded",
		"a container of a static pod keeps exiting, or each CCM that leads ends",
		"correct what the last line of its log names, which the message has; for a signal, find what sends it",
	},
	{
		"CCM0109", "FirstRollout", "CloudControllerManagerProgressing",
		"no node runs a revision yet",
		"wait; if it lasts, run: explain rollout",
	},
	{
		"CCM0110", "ForeignLeader", "CloudControllerManagerAvailable",
		"the lease's holder is no CCM of this operator",
		"stop the named process; if there is none, delete the lease cloud-controller-manager",
	},
	{
		"CCM0111", "ImageNotPulled", "ImagePullDegraded",
		"the kubelet cannot pull an image of the static pod",
		"correct the image, or make its registry reachable with the cluster's pull secret",
	},
	{
		"CCM0112", "InstallerPodFailed", "NodeInstallerDegraded",
		"a revision could not be installed on a node",
		"read the log of the pod installer-<revision>-<node>",
	},
	{
		"CCM0113", "LeaderCutOff", "CloudControllerManagerAvailable",
		"the leader is on a Node that vanished",
		"restart the kubelet there, so that the Node registers again, or replace the machine",
	},
	{
		"CCM0114", "LeaderDeaf", "DeafLeaderNotices",
		"the leader looks at no node, nodes wait, and another process is about to lead",
		"nothing: the operator changes the leader",
	},
	{
		"CCM0115", "LeaderDeafAgain", "DeafLeaderNotices",
		"a leader was replaced for looking at no node, and the next one looks at none either",
		"check that the cloud's API answers the control plane, then end the process that leads",
	},
	{
		"CCM0116", "LeaderEnded", "CloudControllerManagerAvailable",
		"the lease names a process that has ended",
		"nothing, if a standby takes over within a minute; otherwise read the CCMs' logs",
	},
	{
		"CCM0117", "LeaderSilent", "CloudControllerManagerAvailable",
		"the holder runs, but has not renewed the lease for two periods",
		"nothing, if it renews again or a standby takes over; otherwise check that node and the log of its CCM",
	},
	{
		"CCM0118", "LeaderStarting", "CloudControllerManagerAvailable",
		"the holder has had the lease for less than 30 seconds",
		"nothing",
	},
	{
		"CCM0119", "LeaseExpired", "CloudControllerManagerAvailable",
		"the holder stopped renewing, and no standby took over",
		"read the CCMs' logs",
	},
	{
		"CCM0120", "LeftOut", "TrustedCADegraded",
		"a trusted CA is missing or cannot be read, and the CCM does not trust it",
		"create or correct the object that the message names",
	},
	{
		"CCM0121", "LivingNodesUnknown", "NodeDeletionDegraded",
		"the CCM does not find living machines either, so its word about dead ones does not count",
		"check the credentials and the project, region or datacenter of the cloud configuration",
	},
	{
		"CCM0122", "Missing", "NodeManagerProgressing",
		"the cloud-node-manager's DaemonSet does not exist yet",
		"wait; if it lasts, read the operator's log",
	},
	{
		"CCM0123", "NoData", "any of the ClusterOperator",
		"no controller has reported yet",
		"wait; if it lasts, check the operator's pod",
	},
	{
		"CCM0124", "NoLeader", "CloudControllerManagerAvailable",
		"the lease has no holder, or each CCM that acquires it ends",
		"correct what the message quotes; without a quote nothing in the first minute, then read the CCMs' logs",
	},
	{
		"CCM0125", "NoLivingNode", "NodeDeletionDegraded",
		"the CCM wants to delete a Node, and there is no other ready node to compare with",
		"wait for ten minutes; if the machine is gone for certain, allow its deletion as the message says",
	},
	{
		"CCM0126", "NoReadyPod", "CloudControllerManagerAvailable",
		"no CCM is Ready",
		"check the containers that the message names, and their logs",
	},
	{
		"CCM0127", "NoRevision", "InstallerControllerDegraded",
		"no revision exists yet",
		"correct the inputs that are rejected; if none is, wait",
	},
	{
		"CCM0128", "NodeReports", "NodeDeletionDegraded",
		"the CCM wants to delete a Node whose kubelet reports, so its machine exists",
		"check that the cloud configuration names the cloud of this machine",
	},
	{
		"CCM0129", "NodesDrifted", "NodeInitializationNotices",
		"nodes that do not wait have no providerID, or that of another machine or of another Node, no stable internal " +
			"address, or a startup taint of another component",
		"read the message, which has the nodes and what to do about each",
	},
	{
		"CCM0130", "NodesMissing", "ControlPlaneNodesDegraded",
		"there have been fewer control-plane Nodes than the topology requires for 30 minutes",
		"restart the kubelet of the missing Node, or replace the machine",
	},
	{
		"CCM0131", "NodesNotClean", "RemovalDegraded",
		"the static pod cannot be removed from a node",
		"read the log of the pod removal-<node>",
	},
	{
		"CCM0132", "NodesUninitialized", "NodeInitializationDegraded",
		"nodes have waited for their initialization for five minutes",
		"run explain node <node>",
	},
	{
		"CCM0133", "NodesVanished", "ControlPlaneNodesDegraded",
		"a Node was deleted while its static pod ran",
		"restart the kubelet there, so that the Node registers again, or replace the machine",
	},
	{
		"CCM0134", "NodesWaiting", "NodeInitializationNotices",
		"nodes have waited for their initialization for 30 seconds",
		"run explain node <node>",
	},
	{
		"CCM0135", "NotReported", "NodeFilesDegraded",
		"a file-syncer has not reported for a quarter of an hour",
		"read the log of the container file-syncer on the named node",
	},
	{
		"CCM0136", "NotResponding", "UnresponsiveDegraded",
		"a container runs and does not answer its probe",
		"nothing the first time, because the kubelet restarts it; if it recurs, read its log and check the node's load",
	},
	{
		"CCM0137", "NotRunning", "NodeManagerDegraded, NodeManagerNotices",
		"cloud-node-managers fail",
		"check the pods on the nodes that the message names, and their logs",
	},
	{
		"CCM0138", "NotStarted", "InstallerPodStartDegraded",
		"a kubelet does not start an installer pod",
		"check the kubelet and the container runtime on the named node",
	},
	{
		"CCM0139", "NotWritten", "NodeFilesDegraded",
		"a file-syncer cannot write its files",
		"make the directory that the message names writable",
	},
	{
		"CCM0140", "PolicyChanged", "AdmissionPoliciesDegraded",
		"an admission policy or its binding is not that of the release",
		"wait for the cluster-version-operator; if it does not restore it, remove it from spec.overrides of " +
			"clusterversion/version",
	},
	{
		"CCM0141", "PolicyMissing", "AdmissionPoliciesDegraded",
		"an admission policy of the payload does not exist",
		"wait for the cluster-version-operator; if it does not restore it, remove it from spec.overrides of " +
			"clusterversion/version",
	},
	{
		"CCM0142", "PredecessorLeads", "CloudControllerManagerAvailable",
		"the predecessor's CCM works until it is replaced",
		"nothing; the condition TakingOver has the step",
	},
	{
		"CCM0143", "PredecessorRuns", "CloudControllerManagerDegraded",
		"the CCM is removed, and a Deployment of the predecessor exists",
		"delete the named Deployment, or set spec.managementState to Managed",
	},
	{
		"CCM0144", "PreflightFailed", "PreflightNotices",
		"a CCM with the changed inputs cannot work with its cloud; the condition of the input says what stays in use",
		"correct what the message names, or undo the change",
	},
	{
		"CCM0145", "PreflightInconclusive", "PreflightNotices",
		"the preflight of the changed inputs showed nothing: the cloud may be down, or its pod did not run",
		"check the cloud, the image or the node that the message names; the change waits and is tried again, and the " +
			"message has the command that rolls it out unproved",
	},
	{
		"CCM0146", "PreflightWaiting", "PreflightNotices",
		"the preflight of the changed inputs has lasted for more than a minute",
		"wait; the message says for what",
	},
	{
		"CCM0147", "Refused", "CloudConfigDegraded and those of the other inputs",
		"the input is rejected, and what was accepted before stays in use",
		"correct what the message names; validate finds what a parser can see, and a preflight what the cloud says",
	},
	{
		"CCM0148", "ReleasingLease", "TakingOver",
		"a node that does not report holds the predecessor's lease, which expires",
		"wait for at most 137 seconds: docs/upgrading.md#during",
	},
	{
		"CCM0149", "Removed", "Removing, CloudControllerManagerAvailable",
		"the CCM is removed",
		"nothing; set spec.managementState to Managed to install it again",
	},
	{
		"CCM0150", "Removing", "CloudControllerManagerAvailable",
		"the CCM is being removed",
		"nothing; the condition Removing has the step",
	},
	{
		"CCM0151", "RemovingObjects", "Removing",
		"the operator deletes what it created",
		"wait",
	},
	{
		"CCM0152", "RemovingStaticPods", "Removing",
		"the static pods and their files are removed from the nodes",
		"wait",
	},
	{
		"CCM0153", "RepairWaits", "NodeFilesDegraded",
		"the repair of a node's files waits for the end of a rollout",
		"wait for the rollout, which explain rollout follows; find out what changed the files",
	},
	{
		"CCM0154", "RepairedTooOften", "NodeFilesDegraded",
		"a node's files keep changing after repairs",
		"find out what changes files below /etc/kubernetes on the named node, and stop it",
	},
	{
		"CCM0155", "Restoring", "Removing",
		"a removal was taken back, and its last pods end",
		"wait",
	},
	{
		"CCM0156", "RollingOut", "CloudControllerManagerProgressing, NodeManagerProgressing",
		"a rollout has not ended",
		"wait; if it lasts, run: explain rollout",
	},
	{
		"CCM0158", "ServicesWaiting", "LoadBalancerNotices",
		"Services of type LoadBalancer have waited for two minutes for the CCM, or for 30 seconds after an error",
		"run explain service <namespace>/<name>",
	},
	{
		"CCM0159", "StartingStaticPods", "TakingOver",
		"the predecessor has stopped, and no static pod has been Ready yet",
		"wait: docs/upgrading.md#during",
	},
	{
		"CCM0160", "StaticPodsLeft", "ControlPlaneNodesDegraded",
		"a Node lost the role and still runs the static pod",
		"set the label node-role.kubernetes.io/master again, or delete the static pod's manifest on the node",
	},
	{
		"CCM0161", "StoppingPredecessor", "TakingOver",
		"the predecessor's Deployment is being deleted, and its pods end",
		"wait; if it lasts, check the pods that the message names: docs/upgrading.md#during",
	},
	{
		"CCM0162", "SyncError", "a controller's Degraded one",
		"the controller gets errors from the API server",
		"read the message, which has the error; if it lasts, read the operator's log",
	},
	{
		"CCM0163", "TooManyNodes", "NodeDeletionDegraded",
		"the CCM wants to delete Nodes, and more than half of the kubelets are silent, as after a failure of the network",
		"restore their connection to the API server; if the machines are gone for certain, follow the message",
	},
	{
		"CCM0164", "Unjudged", "a Degraded one of an input",
		"the input cannot be checked yet",
		"read the message, which names what it waits for",
	},
	{
		"CCM0165", "Unmanaged", "CloudControllerManagerAvailable",
		"the platform has no CCM",
		"nothing",
	},
	{
		"CCM0166", "Waiting", "Removing",
		"a requested removal begins within a minute, and can be undone",
		"nothing; or set spec.managementState to Managed to undo it",
	},
	{
		"CCM0167", "WaitingForKubeControllerManager", "TakingOver",
		"kube-controller-manager still runs the cloud's controllers",
		"wait for its operator: docs/upgrading.md#during",
	},
	{
		"CCM0168", "WaitingForLeader", "TakingOver",
		"the predecessor has stopped, and no static pod holds the lease yet",
		"wait; if it lasts longer than a minute, read the logs of the CCMs: docs/upgrading.md#during",
	},
	{
		"CCM0169", "WaitingForStaticPods", "TakingOver",
		"the predecessor runs until a static pod is Ready on every control-plane node",
		"wait; if it lasts, check the nodes that the message names: docs/upgrading.md#during",
	},
	{
		"CCM0170", "OneAtATime", "NodeDeletionDegraded",
		"the CCM cannot be asked for living nodes, and nothing shows that its cloud knows them, so one Node goes in ten " +
			"minutes",
		"wait; if the machines are gone for certain, allow their deletions as the message says",
	},
	{
		"CCM0171", "RevisionFailed", "PreflightNotices",
		"a revision failed on the first node that got it, or when its cloud-controller-manager led; the nodes go back to " +
			"the former one, and the condition of the input says what is rejected",
		"correct what the message names, or undo the change",
	},
	{
		"CCM0172", "RolloutNotBegun", "VersionsProgressing",
		"an upgrade has not begun to roll out: the message has what holds it back",
		"correct what the message names",
	},
}
