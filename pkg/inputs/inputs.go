// Package inputs gathers the inputs of a candidate. It decides which object and which key contain the cloud
// configuration, the credentials and the trusted CAs, reports diagnostics about them, and stores the last accepted
// inputs.
//
// The operator reads objects from its informers' caches, the offline commands read them from files. Each has its own
// Reader; everything else is shared.
package inputs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// RootSecretNamespace is the namespace of the Secret that the installer writes, and from which
// cloud-credential-operator derives the others.
const RootSecretNamespace = operatorclient.KubeSystemNamespace

const (
	trustedCAKey   = "ca-bundle.crt"
	infrastructure = "infrastructure.config.openshift.io/" + operatorclient.Instance
	proxy          = "proxy.config.openshift.io/" + operatorclient.Instance
	ownResource    = "cloudcontrollermanager/" + operatorclient.Instance
)

// Reader reads the objects with the inputs.
type Reader interface {
	// ConfigMap returns nil if the ConfigMap does not exist.
	ConfigMap(namespace, name string) (*corev1.ConfigMap, error)
	// Secret returns nil if the Secret does not exist or the Reader cannot read it.
	Secret(namespace, name string) (*corev1.Secret, error)
	// Name returns how messages name an object such as "configmap/x in openshift-config".
	Name(object string) string
}

// Listers is the operator's Reader. Each field is the cache of one namespace.
type Listers struct {
	// UserConfig and ManagedConfig read the ConfigMaps of openshift-config and openshift-config-managed.
	UserConfig, ManagedConfig corelisters.ConfigMapLister

	// Secrets reads the Secrets of the operand's namespace; nil for a controller that reads none. The operator may not
	// read Secrets of other namespaces.
	Secrets corelisters.SecretLister
}

// ConfigMap implements Reader.
func (l Listers) ConfigMap(namespace, name string) (*corev1.ConfigMap, error) {
	lister := l.UserConfig
	if namespace == operatorclient.ManagedConfigNamespace {
		lister = l.ManagedConfig
	}
	return operatorclient.Find(lister.ConfigMaps(namespace), "configmap", namespace, name)
}

// Secret implements Reader.
func (l Listers) Secret(namespace, name string) (*corev1.Secret, error) {
	if l.Secrets == nil || namespace != operand.Namespace {
		return nil, nil
	}
	return operatorclient.Find(l.Secrets.Secrets(namespace), "secret", namespace, name)
}

// Name implements Reader.
func (l Listers) Name(object string) string { return object }

// Writer is the kind of client that writes an input.
type Writer int

const (
	// Administrator writes objects that a configuration names.
	Administrator Writer = iota
	// Component is another operator or controller of the cluster.
	Component
)

// Gathered are the current inputs.
type Gathered struct {
	CloudConfig operand.CloudConfig
	// Credentials are the keys of the platform's Secret, or Custom.ReadOnce.
	Credentials operand.Credentials
	// Custom are the keys of spec.custom's Secrets.
	Custom customccm.Secrets
	// Trust is the trusted CA that the Proxy names, empty if it names none.
	Trust []operand.TrustSource

	// Absent maps the names of missing inputs to their writers.
	Absent map[string]Writer
}

// Bundles returns the CA bundles that the user wrote.
func (g *Gathered) Bundles() []operand.TrustSource {
	cloud := operand.TrustSource{Source: g.CloudConfig.Source, Key: CloudCAKey, Data: g.CloudConfig.CABundle}
	return append(slices.Clone(g.Trust), cloud)
}

// Gather reads every input that the platform and the observed configuration require. Diagnostics about an input are
// part of the result. An error means that an object could not be read.
func Gather(r Reader, observed *operandconfig.Config, p platform.Platform) (*Gathered, error) {
	g := &Gathered{Absent: map[string]Writer{}}
	for _, gather := range []func(Reader, *operandconfig.Config, platform.Platform) error{
		g.cloudConfig, g.secrets, g.trust,
	} {
		if err := gather(r, observed, p); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// secrets gathers the credentials from the platform's Secret or, on a platform without one, from spec.custom's Secrets.
func (g *Gathered) secrets(r Reader, observed *operandconfig.Config, p platform.Platform) error {
	if p.Credentials.Secret != "" {
		return g.credentials(r, p.Credentials)
	}
	custom, err := CustomSecrets(r, observed)
	g.Custom, g.Credentials = custom, operand.CustomCredentials(custom)
	for _, missing := range custom.Missing {
		g.Absent[missing] = Administrator
	}
	return err
}

// CustomSecrets gathers the keys of spec.custom's Secrets.
func CustomSecrets(r Reader, observed *operandconfig.Config) (customccm.Secrets, error) {
	if observed.Custom == nil || len(observed.Custom.Secrets) == 0 {
		return customccm.Secrets{}, nil
	}
	return customccm.Gather(observed.Custom, operand.IsOwnSecret, func(name string) (string, map[string][]byte, error) {
		secret, source, err := read(r.Secret, r, "secret", operand.Namespace, name)
		if secret == nil {
			return source, nil, err
		}
		return source, nonNil(secret.Data), err
	})
}

// credentials prefers the operand's Secret, which does not exist before cloud-credential-operator has run, to the root
// Secret. Render reports missing credentials.
func (g *Gathered) credentials(r Reader, names platform.Credentials) error {
	for _, ref := range []struct{ namespace, name string }{
		{operand.Namespace, names.Secret}, {RootSecretNamespace, names.RootSecret},
	} {
		if ref.name == "" {
			continue
		}
		secret, source, err := read(r.Secret, r, "secret", ref.namespace, ref.name)
		if err != nil {
			return err
		}
		if secret != nil {
			g.Credentials = operand.Credentials{Source: source, Data: nonNil(secret.Data)}
			return nil
		}
		if ref.namespace == operand.Namespace {
			g.Credentials.Source = source
		}
	}
	g.Absent[g.Credentials.Source] = Component
	return nil
}

func (g *Gathered) trust(r Reader, observed *operandconfig.Config, _ platform.Platform) error {
	if observed.TrustedCA == "" {
		return nil
	}
	configMap, name, err := read(r.ConfigMap, r, "configmap", operatorclient.UserConfigNamespace, observed.TrustedCA)
	if err != nil {
		return err
	}
	source := operand.TrustSource{Source: name, Key: trustedCAKey}
	alternative := "correct spec.trustedCA of " + r.Name(proxy)
	if configMap == nil {
		source.Diagnostic = missing(alternative)
		g.Absent[name] = Administrator
	} else {
		var exists bool
		source.Data, source.Diagnostic, exists = value(configMap, trustedCAKey, alternative)
		g.recordMissingKey(exists, name, trustedCAKey)
	}
	g.Trust = append(g.Trust, source)
	return nil
}

// recordMissingKey records a missing key. It may only be missing from the cache: the object that names the key and the
// object that contains it are watched separately.
func (g *Gathered) recordMissingKey(exists bool, source, key string) {
	if !exists {
		g.Absent[source+", key "+key] = Administrator
	}
}

// read returns an object, nil if it does not exist, and its name in messages.
func read[T any](
	get func(namespace, name string) (T, error), r Reader, kind, namespace, name string,
) (T, string, error) {
	object := fmt.Sprintf("%s/%s in %s", kind, name, namespace)
	found, err := get(namespace, name)
	if err != nil {
		return found, "", err
	}
	return found, r.Name(object), nil
}

const binaryDataMessage = "binary data is not supported; store the value as UTF-8 text"

func missing(alternative string) string { return "it does not exist; create it, or " + alternative }

// value returns the value of a key, or what is wrong with it, and whether the key exists. alternative is another way to
// correct a missing key, and may be empty.
func value(configMap *corev1.ConfigMap, key, alternative string) (data []byte, message string, exists bool) {
	if text, exists := configMap.Data[key]; exists {
		return []byte(text), "", true
	}
	if _, binary := configMap.BinaryData[key]; binary {
		return nil, binaryDataMessage, true
	}
	has := "no data"
	if keys := slices.Sorted(maps.Keys(configMap.Data)); len(keys) > 0 {
		has = strings.Join(keys, ", ")
	}
	message = fmt.Sprintf("there is no such key, the object has %s; add the key", has)
	if alternative != "" {
		message += ", or " + alternative
	}
	return nil, message, false
}

// nonNil returns an empty map instead of nil, which would mean that the Secret does not exist.
func nonNil(data map[string][]byte) map[string][]byte {
	if data == nil {
		return map[string][]byte{}
	}
	return data
}
