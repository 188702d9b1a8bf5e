package standin

import (
	"crypto/tls"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/pki"
)

// certificates holds the server's certificate, which can be replaced while it serves.
type certificates struct {
	name  string
	hosts []string

	mutex   sync.Mutex
	current *issued
	// expired selects the certificate that has ended.
	expired bool
}

// issued are serving certificates, one of which has ended, with their private CA in PEM. The CA's key is forgotten.
type issued struct {
	ca                   []byte
	certificate, expired tls.Certificate
}

func (c *certificates) init(name string, hosts []string) error {
	c.name, c.hosts = name, hosts
	first, err := c.renew()
	if err != nil {
		return err
	}
	c.use(first)
	return nil
}

func (c *certificates) renew() (*issued, error) {
	authority, err := pki.NewAuthority(c.name+"-stand-in-ca", time.Now())
	if err != nil {
		return nil, err
	}
	next := &issued{ca: authority.Certificate}
	for certificate, issue := range map[*tls.Certificate]func(string, ...string) (pki.Pair, error){
		&next.certificate: authority.Server, &next.expired: authority.ExpiredServer,
	} {
		pair, err := issue(c.name+"-stand-in", c.hosts...)
		if err != nil {
			return nil, err
		}
		if *certificate, err = tls.X509KeyPair(pair.Certificate, pair.Key); err != nil {
			return nil, fmt.Errorf("serving certificate: %w", err)
		}
	}
	return next, nil
}

func (c *certificates) expire(expired bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.expired = expired
}

func (c *certificates) use(renewed *issued) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.current = renewed
}

func (c *certificates) bundle() []byte {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.current.ca)
}

func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.expired {
		return &c.current.expired, nil
	}
	return &c.current.certificate, nil
}
