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
}

// issued is a serving certificate with its private CA in PEM. The CA's key is forgotten.
type issued struct {
	ca          []byte
	certificate tls.Certificate
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
	pair, err := authority.Server(c.name+"-stand-in", c.hosts...)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	return &issued{ca: authority.Certificate, certificate: certificate}, nil
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
	return &c.current.certificate, nil
}
