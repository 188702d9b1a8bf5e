package configobservation

import (
	"fmt"
	"slices"

	"github.com/openshift/library-go/pkg/operator/configobserver"
	"github.com/openshift/library-go/pkg/operator/configobserver/apiserver"
	"github.com/openshift/library-go/pkg/operator/events"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// TLSProfileError reports a TLS profile with which no cloud-controller-manager starts.
type TLSProfileError struct {
	// Kept reports whether the previous profile stays in use.
	Kept bool
}

// TLSProfileKey is the field that the error is about.
const TLSProfileKey = "spec.tlsSecurityProfile.custom.ciphers"

// Reason returns the error without the object and the field.
func (e *TLSProfileError) Reason() string {
	effect := "until then both are added"
	if e.Kept {
		effect = "until then the former profile is used"
	}
	return "it has neither ECDHE-RSA-AES128-GCM-SHA256 nor ECDHE-ECDSA-AES128-GCM-SHA256: below TLS 1.3, HTTP/2 " +
		"requires one of them, and the cloud-controller-manager would exit; add one, or set minTLSVersion to VersionTLS13; " +
		effect
}

func (e *TLSProfileError) Error() string {
	return fmt.Sprintf("apiserver.config.openshift.io/cluster, %s: %s", TLSProfileKey, e.Reason())
}

// observeTLSProfile observes the TLS profile. If it is unusable, the previous profile stays in use. If there is none,
// the cipher suites that HTTP/2 requires are added: without a cloud-controller-manager, no installation completes.
func observeTLSProfile(
	genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any,
) (map[string]any, []error) {
	version, suites := operandconfig.MinTLSVersionPath, operandconfig.CipherSuitesPath
	observe := func(recorder events.Recorder) (map[string]any, []error) {
		return apiserver.ObserveTLSSecurityProfileWithPaths(genericListers, recorder, existing, version, suites)
	}
	observed, errs := observe(unrecorded()) // unrecorded: an unusable profile would be an event with each attempt
	info := servingInfo(observed)
	// Without a cloud-controller-manager, no process serves with the profile. While the platform is unknown, one may run.
	d, err := decideAccepted(genericListers.(Listers), existing)
	if len(errs) > 0 || err == nil && !d.Managed() || info.AllowsHTTP2() {
		return observe(recorder)
	}
	if former := servingInfo(existing); former.MinTLSVersion != "" && former.AllowsHTTP2() {
		return configobserver.Pruned(existing, version, suites), []error{&TLSProfileError{Kept: true}}
	}
	complete := slices.Concat(info.CipherSuites, operandconfig.HTTP2CipherSuites())
	if err := unstructured.SetNestedStringSlice(observed, complete, suites...); err != nil {
		return observed, []error{fmt.Errorf("setting the cipher suites: %w", err)}
	}
	return observed, []error{&TLSProfileError{}}
}

func servingInfo(config map[string]any) operandconfig.ServingInfo {
	version, _, _ := unstructured.NestedString(config, operandconfig.MinTLSVersionPath...)
	suites, _, _ := unstructured.NestedStringSlice(config, operandconfig.CipherSuitesPath...)
	return operandconfig.ServingInfo{MinTLSVersion: version, CipherSuites: suites}
}
