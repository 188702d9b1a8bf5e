package inputs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/digest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

// The keys of the Secret operand.AcceptedInputsSecret. The values are the unchanged bytes of the sources.
const (
	recordsKey      = operand.AcceptedRecordsKey
	cloudConfigFile = "cloud-config"
	besideConfig    = cloudConfigFile + ".beside." // followed by a key of the ConfigMap
	besideCA        = cloudConfigFile + "." + CloudCAKey
	credentialsFile = "credentials." // followed by a key of the Secret
	trustedCAFile   = "trusted-ca"
	trustedCAName   = "the trusted CA"

	maxKey = 253

	// maxFormer is how many former versions of an input are remembered.
	maxFormer = 10
)

// Accepted are the last accepted inputs. A field is nil if no version is stored.
type Accepted struct {
	// Known reports whether anything was accepted on this platform.
	Known       bool
	CloudConfig *Version[operand.CloudConfig]
	Credentials *Version[Credentials]
	TrustedCA   *Version[operand.TrustSource]
	// TrustOmitted reports whether a trusted CA was accepted but did not fit in the Secret.
	TrustOmitted bool
}

// Version is an accepted version of an input.
type Version[T any] struct {
	Input T
	// Source is the object from which the input was read, and Since when it was accepted.
	Source string
	Since  time.Time
	// Former are the previous versions, the latest first. Their content is not stored.
	Former []FormerVersion

	digest string
}

// FormerVersion is a version that another one has replaced.
type FormerVersion struct {
	Since  time.Time `json:"since"`
	Digest string    `json:"digest"`
}

// Credentials are accepted credentials. Reloaded are the keys whose content is only in the Secret cloud-tokens.
type Credentials struct {
	operand.Credentials
	Reloaded []string
}

type records struct {
	Platform    string   `json:"platform"`
	CloudConfig *record  `json:"cloudConfig,omitempty"`
	Credentials *record  `json:"credentials,omitempty"`
	TrustedCA   *record  `json:"trustedCA,omitempty"`
	LeftOut     []string `json:"leftOut,omitempty"`
}

type record struct {
	Source string    `json:"source"`
	Key    string    `json:"key,omitempty"`
	Since  time.Time `json:"since"`
	// Digest covers all keys of the input. Bytes with another digest are not used.
	Digest string          `json:"digest"`
	Former []FormerVersion `json:"former,omitempty"`
	// Sources and Reloaded are fields of Credentials. Missing means that there was no Secret.
	Sources  map[string]string `json:"sources,omitempty"`
	Reloaded []string          `json:"reloaded,omitempty"`
	Missing  bool              `json:"missing,omitempty"`
}

// AcceptCloudConfig returns the version of an accepted cloud configuration. Equal bytes keep the previous time.
func AcceptCloudConfig(
	previous *Version[operand.CloudConfig], config operand.CloudConfig, now time.Time,
) *Version[operand.CloudConfig] {
	return accept(previous, config, config.Source, digestOf(cloudConfigFiles(config)), now)
}

// AcceptCredentials is AcceptCloudConfig for the credentials.
func AcceptCredentials(previous *Version[Credentials], in operand.Inputs, now time.Time) *Version[Credentials] {
	credentials := Credentials{Credentials: in.Credentials, Reloaded: slices.Sorted(maps.Keys(in.Custom.Reloaded))}
	return accept(previous, credentials, in.Credentials.Source, digestOf(credentialFiles(in.Credentials)), now)
}

// AcceptTrustedCA is AcceptCloudConfig for the trusted CA.
func AcceptTrustedCA(
	previous *Version[operand.TrustSource], source operand.TrustSource, now time.Time,
) *Version[operand.TrustSource] {
	return accept(previous, source, source.Source, digestOf(trustFiles(source)), now)
}

func accept[T any](previous *Version[T], input T, source, digest string, now time.Time) *Version[T] {
	version := &Version[T]{Input: input, Source: source, Since: now.UTC().Truncate(time.Second), digest: digest}
	switch {
	case previous == nil:
	case previous.digest == digest:
		version.Since, version.Former = previous.Since, previous.Former
	default:
		former := append([]FormerVersion{{Since: previous.Since, Digest: previous.digest}}, previous.Former...)
		version.Former = former[:min(len(former), maxFormer)]
	}
	return version
}

// ReadAccepted reads the accepted inputs of a platform; secret may be nil. It ignores inputs of another platform and
// inputs that another client changed.
func ReadAccepted(secret *corev1.Secret, platform string) Accepted {
	var r records
	if secret == nil || json.Unmarshal(secret.Data[recordsKey], &r) != nil || r.Platform != platform {
		return Accepted{}
	}
	accepted := Accepted{Known: true, TrustOmitted: slices.Contains(r.LeftOut, trustedCAName)}
	files := map[string]map[string][]byte{}
	for key, data := range secret.Data {
		name, _, _ := strings.Cut(key, ".")
		if files[name] == nil {
			files[name] = map[string][]byte{}
		}
		files[name][key] = data
	}
	if config := files[cloudConfigFile]; r.CloudConfig.matches(config) {
		accepted.CloudConfig = version(r.CloudConfig, readCloudConfig(r.CloudConfig, config))
	}
	if credentials := files[strings.TrimSuffix(credentialsFile, ".")]; r.Credentials.matches(credentials) {
		accepted.Credentials = version(r.Credentials, readCredentials(r.Credentials, credentials))
	}
	if trust := files[trustedCAFile]; r.TrustedCA.matches(trust) {
		accepted.TrustedCA = version(r.TrustedCA,
			operand.TrustSource{Source: r.TrustedCA.Source, Key: r.TrustedCA.Key, Data: trust[trustedCAFile]})
	}
	return accepted
}

func version[T any](r *record, input T) *Version[T] {
	return &Version[T]{Input: input, Source: r.Source, Since: r.Since, Former: r.Former, digest: r.Digest}
}

func (r *record) matches(files map[string][]byte) bool {
	return r != nil && r.Digest == digestOf(files)
}

func readCloudConfig(r *record, files map[string][]byte) operand.CloudConfig {
	config := operand.CloudConfig{Source: r.Source, Key: r.Key, Data: files[cloudConfigFile], CABundle: files[besideCA]}
	for key, data := range files {
		if beside, is := strings.CutPrefix(key, besideConfig); is {
			if config.Keys == nil {
				config.Keys = map[string][]byte{}
			}
			config.Keys[beside] = data
		}
	}
	return config
}

func readCredentials(r *record, files map[string][]byte) Credentials {
	credentials := Credentials{
		Credentials: operand.Credentials{Source: r.Source, Sources: r.Sources}, Reloaded: r.Reloaded,
	}
	if r.Missing {
		return credentials
	}
	credentials.Data = map[string][]byte{}
	for key, data := range files {
		credentials.Data[strings.TrimPrefix(key, credentialsFile)] = data
	}
	return credentials
}

// Secret returns the Secret with the accepted inputs of a platform, and the names of the inputs that do not fit in it.
// The content of the latest revision replaces those.
func (a Accepted) Secret(platform string) (secret *corev1.Secret, omitted []string, err error) {
	secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: operand.AcceptedInputsSecret},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{},
	}
	r, size := records{Platform: platform}, 0
	add := func(name string, into **record, record *record, files map[string][]byte) {
		needed := sizeOf(files)
		if size+needed > customccm.MaxBytes {
			r.LeftOut = append(r.LeftOut, name)
			return
		}
		size += needed
		record.Digest = digestOf(files)
		*into = record
		maps.Copy(secret.Data, files)
	}
	if v := a.CloudConfig; v != nil {
		add("the cloud configuration", &r.CloudConfig,
			&record{Source: v.Source, Key: v.Input.Key, Since: v.Since, Former: v.Former}, cloudConfigFiles(v.Input))
	}
	if v := a.Credentials; v != nil {
		add("the credentials", &r.Credentials, &record{
			Source: v.Source, Since: v.Since, Former: v.Former, Missing: v.Input.Data == nil,
			Sources: v.Input.Sources, Reloaded: v.Input.Reloaded,
		}, credentialFiles(v.Input.Credentials))
	}
	if v := a.TrustedCA; v != nil {
		add(trustedCAName, &r.TrustedCA,
			&record{Source: v.Source, Key: v.Input.Key, Since: v.Since, Former: v.Former}, trustFiles(v.Input))
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, nil, fmt.Errorf("writing %s of secret/%s in %s: %w", recordsKey, secret.Name, secret.Namespace, err)
	}
	secret.Data[recordsKey] = data
	return secret, r.LeftOut, nil
}

func cloudConfigFiles(config operand.CloudConfig) map[string][]byte {
	files := map[string][]byte{}
	if config.Data != nil {
		files[cloudConfigFile] = config.Data
	}
	if config.CABundle != nil {
		files[besideCA] = config.CABundle
	}
	for key, data := range config.Keys {
		files[besideConfig+key] = data
	}
	return files
}

func credentialFiles(credentials operand.Credentials) map[string][]byte {
	files := map[string][]byte{}
	for key, data := range credentials.Data {
		files[credentialsFile+key] = data
	}
	return files
}

func trustFiles(source operand.TrustSource) map[string][]byte {
	return map[string][]byte{trustedCAFile: source.Data}
}

// sizeOf returns the size of the keys and values, or more than customccm.MaxBytes if a key is too long for the API.
func sizeOf(files map[string][]byte) int {
	size := 0
	for key, data := range files {
		if len(key) > maxKey {
			return customccm.MaxBytes + 1
		}
		size += len(key) + len(data)
	}
	return size
}

func digestOf(files map[string][]byte) string {
	var content strings.Builder
	for _, key := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&content, "%s %d\n%s", key, len(files[key]), files[key])
	}
	return digest.Of(content.String())
}

// Custom returns these credentials in the form of spec.custom's Secrets, with the diagnostics of the current Secrets
// that are not about credentials. The content of reloaded keys is not stored.
func (c Credentials) Custom(now customccm.Secrets) customccm.Secrets {
	custom := customccm.Secrets{ReadOnce: c.Data, Sources: c.Sources, Reloaded: map[string][]byte{}}
	for _, key := range c.Reloaded {
		custom.Reloaded[key] = nil
	}
	for _, d := range now.Diagnostics {
		if d.Cause != diagnostic.Credentials {
			custom.Diagnostics = append(custom.Diagnostics, d)
		}
	}
	return custom
}

// Summary is what is recorded about an accepted input besides its content.
type Summary struct {
	Source string
	Since  time.Time
}

// Summaries are nil for inputs without an accepted version.
type Summaries struct{ CloudConfig, Credentials, TrustedCA *Summary }

// WithoutContent returns a copy of the Secret operand.AcceptedInputsSecret with only the records of the inputs that
// ReadAccepted would return. It omits their digests, because a short secret can be guessed from its digest.
func WithoutContent(secret *corev1.Secret) (*corev1.Secret, error) {
	var stored records
	if err := json.Unmarshal(secret.Data[recordsKey], &stored); err != nil {
		stored = records{} // ReadAccepted ignores it too
	}
	accepted := ReadAccepted(secret, stored.Platform)
	kept := records{
		Platform: stored.Platform, CloudConfig: accepted.CloudConfig.summary(),
		Credentials: accepted.Credentials.summary(), TrustedCA: accepted.TrustedCA.summary(),
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("writing %s of secret/%s in %s: %w", recordsKey, secret.Name, secret.Namespace, err)
	}
	return &corev1.Secret{
		TypeMeta:   secret.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: operand.AcceptedInputsSecret},
		Data:       map[string][]byte{recordsKey: data},
	}, nil
}

func (v *Version[T]) summary() *record {
	if v == nil {
		return nil
	}
	return &record{Source: v.Source, Since: v.Since}
}

// SummariesOf reads the result of WithoutContent for a platform; secret may be nil.
func SummariesOf(secret *corev1.Secret, platform string) Summaries {
	var r records
	if secret == nil || json.Unmarshal(secret.Data[recordsKey], &r) != nil || r.Platform != platform {
		return Summaries{}
	}
	summary := func(r *record) *Summary {
		if r == nil || strings.TrimSpace(r.Source) == "" {
			return nil
		}
		return &Summary{Source: r.Source, Since: r.Since}
	}
	return Summaries{summary(r.CloudConfig), summary(r.Credentials), summary(r.TrustedCA)}
}
