// Package preview computes what a change of a cluster's configuration would do. It gathers, checks and renders the
// cluster's objects twice with the operator's code, as they are and with files laid over them, and compares the
// results. It only reads.
package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/targetconfigcontroller"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// Preview is what a change would do: what the operator would report, and the effect. The remarks say what the operator
// would use instead of each rejected input, and what could not be compared.
type Preview struct {
	offline.Report
	Effect
}

// Effect is the difference between what the operator makes of the cluster without and with the files.
type Effect struct {
	// Unknown means that there is nothing to compare with. The other fields are then empty.
	Unknown bool     `json:"unknown,omitempty"`
	Changes []Change `json:"changes"`
	// Revision is the revision that would roll out, 0 if none would.
	Revision int32 `json:"revision,omitempty"`
	// Nodes are the control-plane nodes in the order of the rollout. Leader is the one that leads now, the last one unless
	// there is a Prover: the first node, which leads before the second one gets the revision.
	Nodes  []string `json:"nodes,omitempty"`
	Leader string   `json:"leader,omitempty"`
	Prover string   `json:"prover,omitempty"`
	// NodeManager reports whether the cloud-node-manager would roll out too, on every Linux node.
	NodeManager bool `json:"cloudNodeManager,omitempty"`
}

// Of returns what the files of the request would do in a cluster.
func Of(ctx context.Context, config *rest.Config, request offline.Request) (*Preview, error) {
	client, err := snapshot.NewClient(config)
	if err != nil {
		return nil, err
	}
	shot, err := client.Read(ctx, nil)
	if err != nil {
		return nil, err
	}
	status, err := report.StatusOf(shot)
	if err != nil {
		return nil, err
	}
	live, err := newCluster(ctx, client.Objects)
	if err != nil {
		return nil, err
	}
	p := &preview{cluster: live, version: status.Versions["operator"]}
	if err := p.overlay(request); err != nil {
		return nil, err
	}
	return p.preview(status)
}

type preview struct {
	cluster *cluster
	version string
	// before is the cluster, and after the cluster with the files.
	before, after *side
	remarks       []string
}

type side struct {
	*offline.Cluster

	dryRun   targetconfigcontroller.DryRun
	config   *operandconfig.Config
	reported []diagnostic.Diagnostic
}

func (p *preview) overlay(request offline.Request) error {
	var err error
	if p.before, err = p.side(offline.Request{}, p.cluster.get); err != nil {
		return err
	}
	if p.after, err = p.side(request, p.cluster.get); err != nil {
		return err
	}
	if isStale, err := p.derivedIsStale(); err != nil || !isStale {
		return err
	}
	// cluster-config-operator will derive another kube-cloud-config from the file: the same text on most platforms.
	p.after, err = p.side(request, func(group, kind, namespace, name string) ([]byte, error) {
		if kind == "ConfigMap" && namespace == operatorclient.ManagedConfigNamespace &&
			name == operatorclient.ManagedCloudConfig {
			return nil, nil
		}
		return p.cluster.get(group, kind, namespace, name)
	})
	return err
}

func (p *preview) side(request offline.Request, live offline.Live) (*side, error) {
	overlay, err := offline.NewOverlay(request, live)
	if err != nil {
		return nil, err
	}
	s := &side{Cluster: overlay}
	resource, err := s.Resource()
	if err != nil {
		return nil, err
	}
	// A file with the operator's resource may lack what the operator has written, and the accepted inputs are no input.
	now := cmp.Or(p.before, s)
	actual, err := now.Resource()
	if err != nil {
		return nil, err
	}
	observed, reported, err := overlay.Observed(actual.Spec.ObservedConfig.Raw, p.version)
	if err != nil {
		return nil, err
	}
	unknown, err := overlay.UnknownFields()
	if err != nil {
		return nil, err
	}
	if s.config, err = operandconfig.Decode(observed); err != nil {
		return nil, err
	}
	s.reported = slices.Concat(overlay.Locate(diagnostic.Error, reported), unknown)
	s.dryRun = targetconfigcontroller.DryRun{
		Spec: resource.Spec.StaticPodOperatorSpec, Annotations: actual.Annotations,
		Status: actual.Status.StaticPodOperatorStatus, Inputs: overlay.Gather,
	}
	s.dryRun.Spec.ObservedConfig.Raw = observed
	if s.dryRun.Live, err = now.ConfigMap(operand.Namespace, operand.PodConfigMap); err != nil {
		return nil, err
	}
	if s.dryRun.Preflight, err = now.Secret(operand.Namespace, operand.PreflightName); err != nil {
		return nil, err
	}
	s.dryRun.Accepted, err = now.Secret(operand.Namespace, operand.AcceptedInputsSecret)
	return s, err
}

// derivedIsStale reports whether a file changes the user's ConfigMap, so that cluster-config-operator will derive
// another ConfigMap from it.
func (p *preview) derivedIsStale() (bool, error) {
	name := p.after.config.CloudConfig.Name
	if name == "" || !p.after.HasFile(operatorclient.UserConfigNamespace, name) ||
		p.after.HasFile(operatorclient.ManagedConfigNamespace, operatorclient.ManagedCloudConfig) {
		return false, nil
	}
	now, err := p.before.ConfigMap(operatorclient.UserConfigNamespace, name)
	if err != nil {
		return false, err
	}
	next, err := p.after.ConfigMap(operatorclient.UserConfigNamespace, name)
	if err != nil || now != nil && maps.Equal(now.Data, next.Data) {
		return false, err
	}
	return true, p.remarkOnDerived(now)
}

func (p *preview) remarkOnDerived(from *corev1.ConfigMap) error {
	derived, err := p.before.ConfigMap(operatorclient.ManagedConfigNamespace, operatorclient.ManagedCloudConfig)
	if err != nil || derived == nil || from == nil {
		return err
	}
	key := cmp.Or(p.after.config.CloudConfig.Key, inputs.DefaultCloudConfigKey)
	if from.Data[key] != derived.Data[operatorclient.ManagedCloudConfigKey] {
		p.remarks = append(p.remarks, fmt.Sprintf("cluster-config-operator changes what it derives from configmap/%s: "+
			"compared is the text of the file", p.after.config.CloudConfig.Name))
	}
	return nil
}

func (p *preview) preview(status *report.Status) (*Preview, error) {
	if p.cluster.secrets == nil {
		p.withoutSecrets()
	}
	next, err := p.after.dryRun.Run()
	if err != nil {
		return nil, err
	}
	result := &Preview{}
	result.Platform, result.Managed, result.Diagnostics = p.after.config.Platform, next.Managed, p.after.reported
	if !next.Managed {
		result.Remarks = append(p.remarks, "platform "+p.after.config.Platform+" has no cloud-controller-manager of this "+
			"operator: nothing is checked")
		return result, nil
	}
	now, err := p.before.dryRun.Run()
	if err != nil {
		return nil, err
	}
	result.Diagnostics = slices.Concat(result.Diagnostics, p.after.Locate(diagnostic.Error, next.Errors),
		p.after.Locate(diagnostic.Warning, next.Warnings))
	if result.Effect, err = p.effect(now, next, status); err != nil {
		return nil, err
	}
	if state := p.after.dryRun.Spec.ManagementState; state == operatorv1.Unmanaged || state == operatorv1.Removed {
		p.remarks = append(p.remarks, fmt.Sprintf("spec.managementState is %s: the operator changes nothing until it is "+
			"Managed", state))
	}
	result.Remarks = append(standIns(next), p.remarks...)
	return result, nil
}

func (p *preview) withoutSecrets() {
	p.remarks = append(p.remarks, fmt.Sprintf("no right to list secrets in %s: the cluster's credentials are not "+
		"checked, given ones are not compared with them, and the accepted inputs are not known", operand.Namespace))
	p.after.dryRun.Inputs = p.after.GatherWithoutSecrets
	p.before.dryRun.Inputs = func(observed *operandconfig.Config, of platform.Platform) (*inputs.Gathered, error) {
		now, err := p.before.GatherWithoutSecrets(observed, of)
		if err != nil {
			return nil, err
		}
		given, err := p.after.GatherWithoutSecrets(observed, of)
		if err != nil {
			return nil, err
		}
		now.Credentials, now.Custom = given.Credentials, given.Custom
		return now, nil
	}
}

func standIns(v *targetconfigcontroller.DryRunResult) []string {
	var texts []string
	for _, cause := range slices.Sorted(maps.Keys(v.Fallbacks)) {
		isRejected := slices.ContainsFunc(v.Errors, func(d diagnostic.Diagnostic) bool { return d.Cause == cause })
		if text := v.Fallbacks[cause]; isRejected && text != "" {
			texts = append(texts, fmt.Sprintf("%s is rejected: %s", cause, text))
		}
	}
	return texts
}

// cluster reads the objects of a cluster, each once. It lists Secrets, because a role cannot grant access by names that
// only the configuration contains.
type cluster struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one command
	objects dynamic.Interface
	read    map[string][]byte
	// secrets are those of the operand's namespace as JSON, nil without the right to list them.
	secrets map[string][]byte
}

func newCluster(ctx context.Context, objects dynamic.Interface) (*cluster, error) {
	c := &cluster{ctx: ctx, objects: objects, read: map[string][]byte{}}
	list, err := objects.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(operand.Namespace).
		List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if apierrors.IsForbidden(err) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing secrets in %s: %w", operand.Namespace, err)
	}
	c.secrets = map[string][]byte{}
	for i := range list.Items {
		if c.secrets[list.Items[i].GetName()], err = list.Items[i].MarshalJSON(); err != nil {
			return nil, fmt.Errorf("reading secret/%s in %s: %w", list.Items[i].GetName(), operand.Namespace, err)
		}
	}
	return c, nil
}

func (c *cluster) get(group, kind, namespace, name string) ([]byte, error) {
	if kind == "Secret" {
		if namespace != operand.Namespace {
			return nil, nil // the operator reads no others
		}
		return c.secrets[name], nil
	}
	id := fmt.Sprintf("%s.%s/%s/%s", kind, group, namespace, name)
	if data, isRead := c.read[id]; isRead {
		return data, nil
	}
	resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
	object, err := c.objects.Resource(resource).Namespace(namespace).Get(c.ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		c.read[id], err = object.MarshalJSON()
	case apierrors.IsNotFound(err):
		c.read[id], err = nil, nil
	case apierrors.IsForbidden(err):
		err = errors.New("you have no right to read this: bind the roles for support")
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", operatorclient.ObjectName(resource.Resource, namespace, name), err)
	}
	return c.read[id], nil
}
