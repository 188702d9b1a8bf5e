package nutanix

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// Instance is a machine that the cloud runs.
type Instance = standin.Instance

// prismCentral is the name of the Prism Central, which the cloud-controller-manager takes for the region.
const prismCentral = "prism-central"

// zones are the names of the clusters with machines.
var zones = []string{"cluster-a", "cluster-b"}

// SetInstances makes the cloud have a virtual machine for each machine. It returns no error.
func (s *Server) SetInstances(machines []Instance) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.machines = nil
	for _, machine := range machines {
		machine.Addresses = slices.Clone(machine.Addresses)
		s.machines = append(s.machines, machine)
	}
	return nil
}

// identity is the UUID of what has a name.
func identity(name string) string {
	b := sha256.Sum256([]byte(name))
	b[6], b[8] = 0x40|b[6]&0x0f, 0x80|b[8]&0x3f
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// SystemUUID returns the UUID in the firmware of a virtual machine, which is its identity.
func (s *Server) SystemUUID(name string) string { return identity(name) }

// ProviderID is the one that the cloud-controller-manager gives the Node of a virtual machine.
func (s *Server) ProviderID(name string) string { return "nutanix://" + identity(name) }

// Region returns the region of all virtual machines.
func (s *Server) Region() string { return prismCentral }

// Zone returns the cluster of a virtual machine.
func (s *Server) Zone(name string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.spread.Zone(name)
}

// StopInstance powers a virtual machine off until StartInstance.
func (s *Server) StopInstance(name string) error { return s.setStopped(name, true) }

// StartInstance starts a virtual machine that StopInstance stopped.
func (s *Server) StartInstance(name string) error { return s.setStopped(name, false) }

// DenyInstances makes the cloud know no virtual machine, as for a user of another project, until it is called with
// false. It returns no error.
func (s *Server) DenyInstances(denied bool) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.denied = denied
	return nil
}

func (s *Server) setStopped(name string, stopped bool) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !slices.ContainsFunc(s.machines, func(m Instance) bool { return m.Name == name }) {
		return fmt.Errorf("nutanix stand-in: no virtual machine %q", name)
	}
	s.stopped[name] = stopped
	return nil
}

func (s *Server) getVM(r *http.Request) object {
	for _, machine := range s.machines {
		if identity(machine.Name) == r.PathValue("id") && !s.denied {
			return object{"$objectType": "vmm.v4.ahv.config.GetVmApiResponse", "data": s.describe(machine)}
		}
	}
	return nil
}

// describe returns a virtual machine in the form of the API.
func (s *Server) describe(machine Instance) object {
	power := "ON"
	if s.stopped[machine.Name] {
		power = "OFF"
	}
	var interfaces []object
	for _, address := range machine.Addresses {
		interfaces = append(interfaces, object{
			"$objectType": "vmm.v4.ahv.config.Nic", "extId": identity(machine.Name + " " + address),
			"nicNetworkInfo": object{
				"$objectType": "vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo", "nicType": "NORMAL_NIC",
				"ipv4Config": object{
					"$objectType": "vmm.v4.ahv.config.Ipv4Config",
					"ipAddress":   object{"$objectType": "common.v1.config.IPv4Address", "value": address, "prefixLength": 32},
				},
			},
		})
	}
	zone := s.spread.Zone(machine.Name)
	return object{
		"$objectType": "vmm.v4.ahv.config.Vm", "extId": identity(machine.Name), "name": machine.Name,
		"powerState": power, "biosUuid": identity(machine.Name), "nics": interfaces,
		"cluster": object{"$objectType": "vmm.v4.ahv.config.ClusterReference", "extId": identity(zone)},
		"host":    object{"$objectType": "vmm.v4.ahv.config.HostReference", "extId": identity("host of " + zone)},
	}
}

// describeCluster returns a cluster in the form of the API. A Prism Central is a cluster with other software.
func describeCluster(name string) object {
	software := "NOS"
	if name == prismCentral {
		software = "PRISM_CENTRAL"
	}
	return object{
		"$objectType": "clustermgmt.v4.config.Cluster", "extId": identity(name), "name": name,
		"config": object{
			"$objectType": "clustermgmt.v4.config.ClusterConfigReference",
			"clusterSoftwareMap": []object{{
				"$objectType": "clustermgmt.v4.config.SoftwareMapReference", "softwareType": software, "version": "7.3",
			}},
		},
	}
}

func listClusters(r *http.Request) object {
	clusters := []object{}
	if page := r.URL.Query().Get("$page"); page == "" || page == "0" { // there is one page
		for _, name := range append([]string{prismCentral}, zones...) {
			clusters = append(clusters, describeCluster(name))
		}
	}
	return object{
		"$objectType": "clustermgmt.v4.config.ListClustersApiResponse", "data": clusters,
		"metadata": object{
			"$objectType": "common.v1.response.ApiResponseMetadata", "totalAvailableResults": len(zones) + 1,
		},
	}
}

func getCluster(r *http.Request) object {
	for _, name := range append([]string{prismCentral}, zones...) {
		if identity(name) == r.PathValue("id") {
			return object{
				"$objectType": "clustermgmt.v4.config.GetClusterApiResponse", "data": describeCluster(name),
			}
		}
	}
	return nil
}

// getHost answers with the one host of a cluster.
func getHost(r *http.Request) object {
	for _, name := range zones {
		if identity(name) == r.PathValue("id") && identity("host of "+name) == r.PathValue("host") {
			return object{"$objectType": "clustermgmt.v4.config.GetHostApiResponse", "data": object{
				"$objectType": "clustermgmt.v4.config.Host", "extId": r.PathValue("host"), "hostName": "host-of-" + name,
			}}
		}
	}
	return nil
}
