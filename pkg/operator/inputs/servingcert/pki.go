package servingcert

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"errors"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/crypto"
	"github.com/openshift/library-go/pkg/pki"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
)

// readPatience limits how long a sync waits for the first read of the PKI configuration.
const readPatience = 10 * time.Second

// keyPolicy selects the keys of new certificates. A change replaces no certificate early.
type keyPolicy struct {
	profile pki.PKIProfileProvider

	// unsupported is why keyFor has selected the previous kind of key.
	unsupported error
}

// readKeyPolicy fails while the policy is unknown. Without a PKI object, library-go's default profile applies.
func (c *controller) readKeyPolicy(ctx context.Context) (*keyPolicy, error) {
	enabled, err := observedplatform.FeatureGateEnabled(c.Operator, featuregate.PKI)
	if err != nil || !enabled {
		return &keyPolicy{profile: pki.NewStaticPKIProfileProvider(nil)}, err
	}
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), c.pkis.Informer().HasSynced) {
		return nil, errors.New("pki.config.openshift.io/cluster has not been read yet, and decides the keys of " +
			"certificates; check that the API server serves pkis.config.openshift.io")
	}
	provider := pki.NewClusterPKIProfileProvider(c.pkis.Lister())
	if _, err := provider.PKIProfile(); apierrors.IsNotFound(err) {
		profile := pki.DefaultPKIProfile()
		return &keyPolicy{profile: pki.NewStaticPKIProfileProvider(&profile)}, nil
	}
	return &keyPolicy{profile: provider}, nil
}

// keyFor returns the generator of the next certificate's key, nil for this operator's default. If the policy is
// unsupported, the key is of the previous certificate's kind.
func (p *keyPolicy) keyFor(
	kind pki.CertificateType, name string, previous *crypto.TLSCertificateConfig,
) crypto.KeyPairGenerator {
	resolved, err := pki.ResolveCertificateConfig(p.profile, kind, name)
	switch {
	case err != nil:
		if p.unsupported == nil {
			p.unsupported = fmt.Errorf("pki.config.openshift.io/cluster, spec.certificateManagement: %w; use values "+
				"that this release supports: until then new certificates get the previous kind of key", err)
		}
		return kindOf(previous)
	case resolved == nil:
		return nil
	}
	return resolved.Key
}

func kindOf(pair *crypto.TLSCertificateConfig) crypto.KeyPairGenerator {
	if pair == nil {
		return nil
	}
	switch key := pair.Certs[0].PublicKey.(type) {
	case *rsa.PublicKey:
		return crypto.RSAKeyPairGenerator{Bits: key.N.BitLen()}
	case *ecdsa.PublicKey:
		return crypto.ECDSAKeyPairGenerator{Curve: crypto.ECDSACurve(fmt.Sprintf("P%d", key.Params().BitSize))}
	}
	return nil
}
