package digitalocean

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
)

// Instance is a machine that the cloud runs: a droplet.
type Instance = machines.Instance

const (
	vpcID = "5a4b3c2d-1e0f-4a5b-8c7d-6e5f4a3b2c1d"
	size  = "s-4vcpu-16gb-amd"
)

// region is a region in the form of the API. Droplets are in the first one.
type region struct {
	Name      string   `json:"name"`
	Slug      string   `json:"slug"`
	Sizes     []string `json:"sizes"`
	Features  []string `json:"features"`
	Available bool     `json:"available"`
}

var regions = []region{
	{Name: "Frankfurt 1", Slug: "fra1", Sizes: []string{size}, Features: []string{"private_networking"}, Available: true},
	{Name: "New York 3", Slug: "nyc3", Sizes: []string{size}, Features: []string{"private_networking"}, Available: true},
}

// dropletID is the identity of a droplet; it depends on the name alone.
func dropletID(name string) int {
	const digits = 100_000_000
	b := sha256.Sum256([]byte(name))
	return int(digits*4 + binary.BigEndian.Uint32(b[:])%digits)
}

// PublicAddress is the public address of a droplet; it depends on the name alone.
func PublicAddress(name string) string {
	b := sha256.Sum256([]byte(name))
	return fmt.Sprintf("198.18.%d.%d", b[0], b[1])
}

// ProviderID is the one that the cloud-controller-manager gives the Node of a droplet.
func (s *Server) ProviderID(name string) string {
	return fmt.Sprintf("digitalocean://%d", dropletID(name))
}

// Region returns the region of all droplets.
func (s *Server) Region() string { return regions[0].Slug }

// listDroplets lists the droplets, or those with a name, whose case does not matter.
func (s *Server) listDroplets(r *http.Request) (int, any, *apiError) {
	name := r.URL.Query().Get("name")
	found := []object{}
	for _, d := range s.Known() {
		if name == "" || strings.EqualFold(name, d.Name) {
			found = append(found, s.describe(d))
		}
	}
	return http.StatusOK, page(r, "droplets", found), nil
}

func (s *Server) getDroplet(r *http.Request) (int, any, *apiError) {
	for _, d := range s.Known() {
		if strconv.Itoa(dropletID(d.Name)) == r.PathValue("id") {
			return http.StatusOK, object{"droplet": s.describe(d)}, nil
		}
	}
	return 0, nil, errNotFound
}

// describe returns a droplet in the form of the API.
func (s *Server) describe(d machines.Machine) object {
	status := "active"
	if d.Stopped {
		status = "off"
	}
	networks := []object{{"ip_address": PublicAddress(d.Name), "netmask": "255.255.240.0", "type": "public"}}
	for _, address := range d.Addresses {
		networks = append(networks, object{"ip_address": address, "netmask": "255.255.255.0", "type": "private"})
	}
	return object{
		"id": dropletID(d.Name), "name": d.Name, "status": status, "locked": false, "created_at": "2026-01-01T00:00:00Z",
		"memory": 16384, "vcpus": 4, "disk": 200, "size_slug": size, "region": regions[0], "vpc_uuid": vpcID,
		"networks": object{"v4": networks, "v6": []object{}}, "features": []string{"private_networking"},
		"tags": []string{}, "volume_ids": []string{}, "backup_ids": []int{}, "snapshot_ids": []int{},
	}
}

func listRegions(r *http.Request) (int, any, *apiError) {
	return http.StatusOK, page(r, "regions", regions), nil
}
