// Package inputs gathers what a candidate is rendered from. It decides which object and which key hold the cloud
// configuration, the credentials and the trusted CAs, reports what is wrong with them, and keeps what was accepted last.
//
// The operator reads objects from the caches of its informers, the commands without a cluster read them from files. Each
// has its own Reader; everything else is the same.
package inputs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// RootSecretNamespace is where the installer writes the Secret from which cloud-credential-operator derives the others.
const RootSecretNamespace = operatorclient.KubeSystemNamespace

const (
	trustedCAKey   = "ca-bundle.crt"
	infrastructure = "infrastructure.config.openshift.io/" + operatorclient.Instance
	proxy          = "proxy.config.openshift.io/" + operatorclient.Instance
	ownResource    = "cloudcontrollermanager/" + operatorclient.Instance
)

// Reader reads the objects that hold inputs.
type Reader interface {
	// ConfigMap returns nil for a ConfigMap that does not exist.
	ConfigMap(namespace, name string) (*corev1.ConfigMap, error)
	// Secret returns nil for a Secret that does not exist or is out of the Reader's reach.
	Secret(namespace, name string) (*corev1.Secret, error)
	// Name returns the name that messages use for an object such as "configmap/x in openshift-config".
	Name(object string) string
}

// Writer is who writes an input.
type Writer int

const (
	// Administrator writes the objects that are named in a configuration.
	Administrator Writer = iota
	// Component is another operator or controller of the cluster.
	Component
)

// Gathered are the inputs as they are now.
type Gathered struct {
	// CloudConfig is the cloud configuration.
	CloudConfig operand.CloudConfig
	// Credentials are those of the platform's Secret, or what Custom delivers that is read once.
	Credentials operand.Credentials
	// Custom is what the Secrets of spec.custom deliver.
	Custom customccm.Secrets
	// Trust is the trusted CA that the Proxy names; empty where it names none.
	Trust []operand.TrustSource

	// Absent has the writer of each input that does not exist, by the input's name.
	Absent map[string]Writer
}

// Gather reads every input of the platform that the observed configuration asks for. What is wrong with an input is part
// of the result; an error means that an object cannot be read.
func Gather(r Reader, observed *operandconfig.Config, p platform.Platform) (*Gathered, error) {
	g := &Gathered{Absent: map[string]Writer{}}
	for _, gather := range []func(Reader, *operandconfig.Config, platform.Platform) error{g.cloudConfig, g.secrets, g.trust} {
		if err := gather(r, observed, p); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// secrets gathers the credentials of the platform's Secret or, where the platform has none, the Secrets of spec.custom.
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

// CustomSecrets puts together what the Secrets of spec.custom deliver.
func CustomSecrets(r Reader, observed *operandconfig.Config) (customccm.Secrets, error) {
	if observed.Custom == nil || len(observed.Custom.Secrets) == 0 {
		return customccm.Secrets{}, nil
	}
	get := func(name string) (customccm.SourceSecret, error) {
		secret, source, err := read(r.Secret, r, "secret", operand.Namespace, name)
		found := customccm.SourceSecret{Source: source}
		if secret != nil {
			found.Data = notNil(secret.Data)
		}
		return found, err
	}
	return customccm.Gather(observed.Custom, customccm.Reader{IsReserved: operand.IsOwnSecret, Get: get})
}

// credentials prefers the operand's own Secret to the root Secret, which is all there is before
// cloud-credential-operator has run. Render reports missing credentials.
func (g *Gathered) credentials(r Reader, names platform.Credentials) error {
	for _, ref := range []struct{ namespace, name string }{{operand.Namespace, names.Secret}, {RootSecretNamespace, names.RootSecret}} {
		if ref.name == "" {
			continue
		}
		secret, source, err := read(r.Secret, r, "secret", ref.namespace, ref.name)
		if err != nil {
			return err
		}
		if secret != nil {
			g.Credentials = operand.Credentials{Source: source, Data: notNil(secret.Data)}
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
		source.Problem = missing(alternative)
		g.Absent[name] = Administrator
	} else {
		var exists bool
		source.Data, source.Problem, exists = value(configMap, trustedCAKey, alternative)
		g.missKey(exists, name, trustedCAKey)
	}
	g.Trust = append(g.Trust, source)
	return nil
}

// missKey records an absent key. The object that names a key is watched apart from the object that has it, so a new key
// may be named before it is seen.
func (g *Gathered) missKey(exists bool, source, key string) {
	if !exists {
		g.Absent[source+", key "+key] = Administrator
	}
}

// read returns an object, nil if it does not exist, and its name in messages.
func read[T any](get func(namespace, name string) (T, error), r Reader, kind, namespace, name string) (T, string, error) {
	object := fmt.Sprintf("%s/%s in %s", kind, name, namespace)
	found, err := get(namespace, name)
	if err != nil {
		return found, "", err
	}
	return found, r.Name(object), nil
}

const binaryProblem = "it holds binary data, which no file on a node is made from; store it as plain text in UTF-8"

func missing(alternative string) string { return "it does not exist; create it, or " + alternative }

// value returns the text under a key, or what is wrong with it, and whether there is such a key. The alternative to adding
// the key may be empty.
func value(configMap *corev1.ConfigMap, key, alternative string) (data []byte, problem string, exists bool) {
	if text, exists := configMap.Data[key]; exists {
		return []byte(text), "", true
	}
	if _, binary := configMap.BinaryData[key]; binary {
		return nil, binaryProblem, true
	}
	has := "no data"
	if keys := slices.Sorted(maps.Keys(configMap.Data)); len(keys) > 0 {
		has = strings.Join(keys, ", ")
	}
	problem = fmt.Sprintf("there is no such key, the object has %s; add the key", has)
	if alternative != "" {
		problem += ", or " + alternative
	}
	return nil, problem, false
}

// notNil tells a Secret without keys from one that does not exist.
func notNil(data map[string][]byte) map[string][]byte {
	if data == nil {
		return map[string][]byte{}
	}
	return data
}
