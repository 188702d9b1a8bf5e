package gcp

import "strings"

// formerInterval is the interval in seconds at which the health checks of former providers ask. Later ones ask less
// often, and lengthen the interval of a check that they find (mergeHealthChecks in gce_loadbalancer_internal.go).
const formerInterval = 2

// AgeHealthChecks makes every health check one of a former provider.
func (s *Server) AgeHealthChecks() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, check := range s.healthChecks() {
		check.body["checkIntervalSec"] = formerInterval
	}
}

// AgedHealthChecks returns the names of the health checks that are still those of a former provider.
func (s *Server) AgedHealthChecks() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var found []string
	for _, check := range s.healthChecks() {
		if check.body["checkIntervalSec"] == formerInterval {
			found = append(found, check.name)
		}
	}
	return found
}

// healthChecks returns the health checks of both kinds of load balancers.
func (n *network) healthChecks() []*stored {
	var found []*stored
	for _, r := range n.resources {
		if strings.HasSuffix(strings.ToLower(r.service), "healthchecks") {
			found = append(found, r)
		}
	}
	return found
}
