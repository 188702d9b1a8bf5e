package nutanix

import (
	"net/http"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
)

// Instance is a machine that the cloud runs.
type Instance = machines.Instance

// prismCentral is the name of the Prism Central, which the cloud-controller-manager takes for the region.
const prismCentral = "prism-central"

// zones are the names of the clusters with machines.
var zones = []string{"cluster-a", "cluster-b"}

// identity is the UUID of what has a name.
func identity(name string) string { return machines.UUID(name) }

// ProviderID is the one that the cloud-controller-manager gives the Node of a virtual machine.
func (s *Server) ProviderID(name string) string { return "nutanix://" + identity(name) }

// Region returns the region of all virtual machines.
func (s *Server) Region() string { return prismCentral }

func (s *Server) getVM(r *http.Request) object {
	for _, machine := range s.Known() {
		if identity(machine.Name) == r.PathValue("id") {
			return object{"$objectType": "vmm.v4.ahv.config.GetVmApiResponse", "data": s.describe(machine)}
		}
	}
	return nil
}

// describe returns a virtual machine in the form of the API.
func (s *Server) describe(machine machines.Machine) object {
	power := "ON"
	if machine.Stopped {
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
	zone := s.Zone(machine.Name)
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
