// Package digitalocean is a small stand-in for DigitalOcean's API: as much of it as the real cloud-controller-manager
// asks for until its nodes are initialized, when they go, and for load balancers, over TLS with a private CA.
//
// It behaves as DigitalOcean does where it matters to a test: every request needs a valid access token, lists have
// pages, a droplet that was deleted is not found and leaves its load balancers, and a new load balancer has no address
// before it is asked for again. Droplets are what SetInstances says. Load balancers and tags can be created. Load
// balancers are kept as clients send them; their region, their VPC and their droplets must exist.
//
// Certificates, and firewalls of the cloud, are not served: the cloud-controller-manager asks for a certificate only if
// a Service names one, and for firewalls only with PUBLIC_ACCESS_FIREWALL_NAME, which the Secret here does not have.
// Other requests are answered with 501 and counted under Unserved.
//
// The cloud-controller-manager asks for https://api.digitalocean.com. The stand-in has a certificate for this name, and
// Hosts returns what its clients must resolve the name to.
package digitalocean
