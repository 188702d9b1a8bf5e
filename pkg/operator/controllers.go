package operator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/loglevel"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/configobservation"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/ondemand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandhealth"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/clientca"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/managedcloudconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/servingcert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/targetconfigcontroller"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/tokens"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/trustedca"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/availability"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/leadership"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/lifecycle/removal"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/lifecycle/takeover"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/lifecycle/unmanaged"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodedeletion"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodeinitialization"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodemanager"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/resources/admissionpolicies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/resources/staticresources"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/noderepair"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/preflight"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/staticpod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/services/loadbalancers"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/clusteroperatorstatus"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/metrics"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/staleconditions"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/versions"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// controllers returns every controller, by the directory below pkg/operator that implements it.
func (w *wiring) controllers() []factory.Controller {
	all := slices.Concat(w.inputs(), w.resources(), w.rollout(), w.leader(), w.nodes(), w.services(), w.lifecycle(),
		w.status())
	return append(all, staleconditions.New(w.deps(), conditionsOf(all)))
}

func (w *wiring) deps() dependencies.Deps {
	return dependencies.Deps{
		Operator:        w.client,
		Kube:            w.kube,
		Target:          w.informers.target,
		Nodes:           w.informers.nodes.Core().V1().Nodes(),
		Infrastructures: w.informers.config.Config().V1().Infrastructures(),
		Lease:           w.lease,
		Clock:           w.Clock,
		Recorder:        w.EventRecorder,
	}
}

func (w *wiring) inputs() []factory.Controller {
	userConfig := w.informers.userConfig
	managedConfig := w.informers.managedConfig.Core().V1().ConfigMaps()
	return []factory.Controller{
		configobservation.New(w.client, w.observed(), w.EventRecorder),
		managedcloudconfig.New(w.deps(), userConfig, managedConfig),
		targetconfigcontroller.New(w.deps(), configobservation.Confirm(w.observed()), w.targetConfig()),
		trustedca.New(w.deps(), userConfig, managedConfig),
		clientca.New(w.deps(), w.informers.kubeSystem.Core().V1().ConfigMaps()),
		tokens.New(w.deps(), w.TokenLifetime),
		servingcert.New(
			w.deps(),
			w.informers.operator.Core().V1().Secrets(),
			w.informers.pki.Config().V1alpha1().PKIs(),
			w.Validity,
		),
	}
}

func (w *wiring) targetConfig() targetconfigcontroller.Options {
	return targetconfigcontroller.Options{
		Namespaces:    w.informers.namespace.Core().V1().Namespaces(),
		UserConfig:    w.informers.userConfig,
		ManagedConfig: w.informers.managedConfig.Core().V1().ConfigMaps(),
		NodeManagers:  w.informers.nodeManager.Apps().V1().DaemonSets(),
		Version:       w.OperatorVersion,
		OperandImages: w.OperandImages,
		OperatorImage: w.OperatorImage,
		SystemTrust:   w.SystemTrust,
	}
}

func (w *wiring) observed() configobservation.Listers {
	listers := configobservation.NewListers(w.client, operatorclient.Field(w.resource, operatorclient.Custom),
		operatorclient.Field(w.resource, operatorclient.NodeInitialization), w.informers.config.Config().V1(),
		w.informers.kubeSystem.Core().V1().ConfigMaps(), w.OperatorVersion)
	deployments := w.informers.target.Apps().V1().Deployments()
	listers.Informers = append(listers.Informers, deployments.Informer())
	listers.Predecessor = func() (bool, error) {
		found, err := predecessor.Deployments(deployments.Lister())
		return len(found) > 0, err
	}
	return listers
}

func (w *wiring) resources() []factory.Controller {
	return []factory.Controller{
		staticresources.New(w.deps(), w.bindings()),
		admissionpolicies.New(
			w.deps(),
			w.informers.policies.Admissionregistration().V1().ValidatingAdmissionPolicies(),
			w.informers.policies.Admissionregistration().V1().ValidatingAdmissionPolicyBindings(),
			staticresources.Rights,
		),
		ondemand.New(w.client, w.EventRecorder, w.demands()...),
	}
}

func (w *wiring) bindings() staticresources.Bindings {
	return staticresources.Bindings{
		Cluster:    w.informers.bindings.Rbac().V1().ClusterRoleBindings(),
		KubeSystem: w.informers.kubeSystemBindings.Rbac().V1().RoleBindings(),
		Policies:   w.informers.policies.Admissionregistration().V1().ValidatingAdmissionPolicyBindings(),
	}
}

func (w *wiring) demands() []ondemand.Demand {
	return []ondemand.Demand{
		{Informers: w.informers.policies, Needed: platform.Platform.Managed},
		{Informers: w.informers.kubeSystemBindings, Needed: staticresources.NeedsKubeSystem},
		{Informers: w.informers.nodeManager, Needed: hasNodeManager},
		{Informers: w.informers.allNodes, Needed: platform.Platform.Managed},
		{Informers: w.announcements, Needed: platform.Platform.Managed},
		{Informers: w.loadBalancers, Needed: loadbalancers.Needed},
		{Informers: w.informers.pki, Needed: platform.Platform.Managed, FeatureGate: featuregate.PKI},
	}
}

func hasNodeManager(p platform.Platform) bool { return p.NodeManagerImage != "" }

func (w *wiring) rollout() []factory.Controller {
	return []factory.Controller{
		staticpod.New(w.deps(), w.OperatorImage),
		preflight.New(w.deps(), w.informers.preflight.Coordination().V1().Leases(), w.started, w.informers.target.Mask),
		noderepair.New(w.deps(), w.facts.NodeRepaired),
	}
}

func (w *wiring) started(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	published, err := w.informers.target.Core().V1().ConfigMaps().Lister().ConfigMaps(operand.Namespace).Get(
		operand.ServingCAConfigMap)
	if err != nil {
		return nil, fmt.Errorf("reading configmap/%s in %s: %w", operand.ServingCAConfigMap, operand.Namespace, err)
	}
	return operandhealth.Controllers(ctx, pod, []byte(published.Data[servingcert.CAKey]), w.Dial)
}

func (w *wiring) leader() []factory.Controller {
	return []factory.Controller{
		availability.New(w.deps(), w.facts.NodesVanished),
		leadership.New(w.deps(), leadership.Options{
			OperatorImage:  w.OperatorImage,
			NodeController: w.nodeController,
			Replaced:       w.facts.LeaderReplaced,
			Memory:         w.LeaderMemory,
		}),
	}
}

func (w *wiring) nodes() []factory.Controller {
	return []factory.Controller{
		nodedeletion.New(w.deps(), w.informers.everyNode(), w.announcements),
		nodeinitialization.New(w.deps(), nodeinitialization.Options{
			Started:        w.started,
			Mask:           w.informers.target.Mask,
			Report:         w.facts.NodesWait,
			NodeController: w.nodeController,
			Threshold:      w.UninitializedThreshold,
		}),
		nodemanager.New(w.deps(), w.informers.nodeManager.Apps().V1().DaemonSets()),
	}
}

func (w *wiring) services() []factory.Controller {
	return []factory.Controller{
		loadbalancers.New(
			w.deps(),
			w.loadBalancers,
			loadbalancers.ReadEvents(w.kube.CoreV1().RESTClient()),
			w.informers.target.Mask,
		),
	}
}

func (w *wiring) lifecycle() []factory.Controller {
	return []factory.Controller{
		takeover.New(w.deps(), w.informers.namespace.Core().V1().Namespaces(), takeover.InTree(w.dynamic)),
		removal.New(w.deps(), w.removal()),
		unmanaged.New(w.deps()),
	}
}

func (w *wiring) removal() removal.Options {
	return removal.Options{
		Policy:                operatorclient.Field(w.resource, operatorclient.RemovalPolicy),
		Annotate:              operatorclient.Annotate(w.dynamic),
		Leases:                w.informers.lease.Coordination().V1().Leases(),
		Metadata:              w.metadata,
		RemoveStaticResources: staticresources.NewRemover(w.deps(), w.bindings()),
		SignerSecret:          servingcert.SignerSecret,
		OperatorImage:         w.OperatorImage,
	}
}

func (w *wiring) status() []factory.Controller {
	return []factory.Controller{
		versions.New(
			w.deps(),
			w.informers.nodeManager.Apps().V1().DaemonSets(),
			w.versions,
			w.Release,
			[]string{
				string(diagnostic.Configuration) + "Degraded", string(diagnostic.Image) + "Degraded", preflight.Condition,
				staticpod.HeldBackCondition,
			},
		),
		clusteroperatorstatus.New(
			w.deps(),
			w.config.ConfigV1(),
			w.informers.clusterOperator.Config().V1().ClusterOperators(),
			w.versions,
			staticresources.Rights,
			Inertia(),
		),
		reconciler.Again(loglevel.NewClusterOperatorLoggingController(w.client, w.EventRecorder), w.EventRecorder,
			w.client.Informer()),
	}
}

func (w *wiring) metrics() prometheus.Collector {
	target := w.informers.target.Core().V1()
	credential := func(secret string, expiry func(*corev1.Secret) time.Time) metrics.Credential {
		return metrics.Credential{
			Name: secret, Secrets: target.Secrets(), Namespace: operand.Namespace, Secret: secret, Expiry: expiry,
		}
	}
	credentials := []metrics.Credential{
		credential(operand.KubeTokenSecret, tokens.Expiry),
		credential(operand.CloudTokensSecret, tokens.Expiry),
		credential(operand.ServingCertSecret, servingcert.Expiry),
		{
			Name: "serving-signer", Secrets: w.informers.operator.Core().V1().Secrets(),
			Namespace: operatorclient.OperatorNamespace, Secret: servingcert.SignerSecret, Expiry: servingcert.Expiry,
		},
	}
	return metrics.New(w.deps(), credentials, w.facts, w.OperatorVersion)
}
