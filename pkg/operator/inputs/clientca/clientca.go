// Package clientca delivers the CAs of the API server's clients to the operand. The operand uses them to authenticate
// scrapes of its metrics without a request to the API server at startup.
package clientca

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	certutil "k8s.io/client-go/util/cert"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/configmaps"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

const (
	// targetKey is the file name in the operand's flags.
	targetKey = "ca-bundle.crt"

	object = "configmap/" + operatorclient.APIServerAuthentication + " in " + operatorclient.KubeSystemNamespace
)

var bundles = []struct{ target, sourceKey string }{
	{operand.ClientCAConfigMap, "client-ca-file"},
	{operand.RequestHeaderClientCAConfigMap, "requestheader-client-ca-file"},
}

type controller struct {
	dependencies.Deps
	source corev1informers.ConfigMapInformer
}

// New returns the controller that copies the client CAs from kube-system's extension-apiserver-authentication, where
// the API server publishes them, to the ConfigMaps client-ca and requestheader-client-ca. It reports a missing or
// invalid source as ClientCADegraded and keeps the last valid copy.
func New(d dependencies.Deps, source corev1informers.ConfigMapInformer) factory.Controller {
	dependencies.Require(d, source)
	c := &controller{Deps: d, source: source}
	f := factory.New().
		WithFilteredEventsInformers(factory.NamesFilter(operatorclient.APIServerAuthentication), source.Informer()).
		WithFilteredEventsInformers(
			factory.NamesFilter(operand.ClientCAConfigMap, operand.RequestHeaderClientCAConfigMap),
			d.Target.Core().V1().ConfigMaps().Informer())
	return reconciler.From(f, "ClientCA", d.Operator, d.Recorder, c.sync)
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	if managed, _, err := observedplatform.Managed(c.Operator); err != nil || !managed {
		return err
	}
	source, err := operatorclient.Find(c.source.Lister().ConfigMaps(operatorclient.KubeSystemNamespace), "configmap",
		operatorclient.KubeSystemNamespace, operatorclient.APIServerAuthentication)
	if err != nil {
		return err
	}
	if source == nil {
		return fmt.Errorf("%s does not exist; kube-apiserver writes it: check its health", object)
	}
	var errs []error
	for _, bundle := range bundles {
		errs = append(errs, c.copy(ctx, syncCtx.Recorder(), source, bundle.sourceKey, bundle.target))
	}
	return errors.Join(errs...)
}

func (c *controller) copy(
	ctx context.Context, recorder events.Recorder, source *corev1.ConfigMap, key, target string,
) error {
	pem := source.Data[key]
	if _, err := certutil.ParseCertsPEM([]byte(pem)); err != nil {
		return fmt.Errorf("%s, key %s: no usable certificate (%w); correct the file of kube-apiserver's flag --%s",
			object, key, err, key)
	}
	required := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: target},
		Data:       map[string]string{targetKey: pem},
	}
	existing, err := c.Target.Core().V1().ConfigMaps().Lister().ConfigMaps(operand.Namespace).Get(target)
	if err == nil && maps.Equal(existing.Data, required.Data) {
		return nil
	}
	return configmaps.Apply(ctx, c.Kube.CoreV1(), recorder, required)
}
