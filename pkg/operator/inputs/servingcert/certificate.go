package servingcert

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openshift/api/annotations"
	"github.com/openshift/library-go/pkg/crypto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	certutil "k8s.io/client-go/util/cert"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Labels and annotations by which tools identify certificates, as in library-go's pkg/operator/certrotation.
const (
	typeLabel           = "auth.openshift.io/managed-certificate-type"
	notBeforeAnnotation = "auth.openshift.io/certificate-not-before"
	notAfterAnnotation  = "auth.openshift.io/certificate-not-after"
	issuerAnnotation    = "auth.openshift.io/certificate-issuer"
	hostnamesAnnotation = "auth.openshift.io/certificate-hostnames"
	refreshAnnotation   = "certificates.openshift.io/refresh-period"

	component = "Cloud Compute / Cloud Controller Manager"
)

// hostnames do not depend on the node, because all nodes serve the same certificate.
func hostnames() sets.Set[string] {
	return sets.New("localhost", "127.0.0.1", "::1", operand.ServingName, operand.ServingName+".cluster.local")
}

// readPair returns a pair and, if it must be replaced, the reason. The parsers' errors quote no keys.
func readPair(secret *corev1.Secret, now time.Time) (pair *crypto.TLSCertificateConfig, reason string) {
	if secret == nil {
		return nil, "there was none"
	}
	certificate, key := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	pair, err := crypto.GetTLSCertificateConfigFromBytes(certificate, key)
	if err != nil {
		return nil, fmt.Sprintf("the previous one is invalid: %v", err)
	}
	switch {
	case now.After(pair.Certs[0].NotAfter):
		reason = "the previous one has expired"
	case now.Before(pair.Certs[0].NotBefore): // The clock was set back.
		reason = "the previous one is not valid yet"
	}
	return pair, reason
}

// Expiry returns when the certificate of a Secret expires, zero if it has none.
func Expiry(secret *corev1.Secret) time.Time {
	certificates, err := crypto.CertsFromPEM(secret.Data[corev1.TLSCertKey])
	if err != nil {
		return time.Time{}
	}
	return certificates[0].NotAfter
}

func rejection(leaf *x509.Certificate, bundle []*x509.Certificate) (reason string) {
	if !slices.ContainsFunc(bundle, func(ca *x509.Certificate) bool { return leaf.CheckSignatureFrom(ca) == nil }) {
		return "no signer in the CA bundle issued the previous one"
	}
	if !names(leaf).Equal(hostnames()) {
		return "the previous one has other names"
	}
	return ""
}

func names(leaf *x509.Certificate) sets.Set[string] {
	all := sets.New(leaf.DNSNames...)
	for _, address := range leaf.IPAddresses {
		all.Insert(address.String())
	}
	return all
}

// signerDue returns when to replace a signer: the earlier of half the configured validity and four fifths of its own.
func signerDue(signer *x509.Certificate, validity time.Duration) time.Time {
	return earliest(signer.NotBefore.Add(validity/2), latestRenewal(signer))
}

// leafDue is signerDue for a leaf, but before its last fifth, clients also get time to read a new signer.
func leafDue(leaf, signer *x509.Certificate, validity time.Duration) time.Time {
	refresh := validity / 2
	due, known := leaf.NotBefore.Add(refresh), signer.NotBefore.Add(refresh/10)
	if due.Before(known) {
		due = known
	}
	return earliest(due, latestRenewal(leaf))
}

func latestRenewal(certificate *x509.Certificate) time.Time {
	return certificate.NotAfter.Add(-certificate.NotAfter.Sub(certificate.NotBefore) / 5)
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// makeSigner makes a key of library-go's default kind if there is no generator.
func makeSigner(
	now func() time.Time, validity time.Duration, key crypto.KeyPairGenerator,
) (*crypto.TLSCertificateConfig, error) {
	// The time makes the name unique, for people and for clients that look up a signer by its name.
	name := fmt.Sprintf("%s_%s@%d", operatorclient.OperatorNamespace, SignerSecret, now().Unix())
	if key == nil {
		return crypto.UnsafeMakeSelfSignedCAConfigForDurationAtTime(name, now, validity)
	}
	return crypto.NewSigningCertificate(name, key, crypto.WithLifetime(validity))
}

// makeLeaf issues a certificate that expires no later than its signer, by default with library-go's kind of key: its
// own function for that accepts only signers with RSA keys.
func makeLeaf(
	signer *crypto.CA, now time.Time, validity time.Duration, key crypto.KeyPairGenerator,
) (*crypto.TLSCertificateConfig, error) {
	if key == nil {
		key = crypto.RSAKeyPairGenerator{}
	}
	expires := earliest(now.Add(validity), signer.Config.Certs[0].NotAfter)
	times := crypto.WithExtensions(func(template *x509.Certificate) error {
		// One second allows for slightly slow clocks.
		template.NotBefore, template.NotAfter = now.Add(-time.Second), expires
		return nil
	})
	return signer.NewServerCertificate(hostnames(), key, times)
}

// withSigner adds a signer to a bundle without expired ones. An invalid bundle counts as empty: leaves are replaced.
func withSigner(bundle string, signer *x509.Certificate, now time.Time) []*x509.Certificate {
	certificates, err := certutil.ParseCertsPEM([]byte(bundle))
	if err != nil {
		certificates = nil
	}
	certificates = append(certificates, signer)
	certificates = slices.DeleteFunc(certificates, func(c *x509.Certificate) bool { return now.After(c.NotAfter) })
	slices.SortFunc(certificates, func(a, b *x509.Certificate) int { return bytes.Compare(a.Raw, b.Raw) })
	return slices.CompactFunc(certificates, (*x509.Certificate).Equal)
}

func objectMeta(namespace, name, kind, description string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace,
		Name:      name,
		Labels:    map[string]string{typeLabel: kind},
		Annotations: map[string]string{
			annotations.OpenShiftComponent:   component,
			annotations.OpenShiftDescription: description,
		},
	}
}

func annotate(meta metav1.ObjectMeta, certificate *x509.Certificate, validity time.Duration) {
	meta.Annotations[issuerAnnotation] = certificate.Issuer.CommonName
	meta.Annotations[notBeforeAnnotation] = certificate.NotBefore.Format(time.RFC3339)
	meta.Annotations[notAfterAnnotation] = certificate.NotAfter.Format(time.RFC3339)
	meta.Annotations[refreshAnnotation] = (validity / 2).String()
	if !certificate.IsCA {
		meta.Annotations[hostnamesAnnotation] = strings.Join(sets.List(names(certificate)), ",")
	}
}
