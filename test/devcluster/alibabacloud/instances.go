package alibabacloud

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// Instance is a machine that ECS runs.
type Instance = machines.Instance

const (
	vpcID        = "vpc-bp1aevy8sofi8mh1q5f39"
	vSwitchID    = "vsw-bp1ddbrxdlrcbim46s6hz"
	instanceType = "ecs.g6.xlarge"
	// clusterTag is the key of the tag by which the cloud-controller-manager looks for the machines of a cluster.
	clusterTag = "ack.aliyun.com"
	// defaultPage is the size of a page that a request does not name.
	defaultPage = 10
)

var zones = []string{regionID + "-h", regionID + "-i", regionID + "-j"}

// InstanceID is the identity of an instance; it depends on the name alone.
func InstanceID(name string) string {
	b := sha256.Sum256([]byte(name))
	return "i-bp1" + hex.EncodeToString(b[:])[:17]
}

// ProviderID is the one that the cloud-controller-manager gives the Node of an instance.
func (s *Server) ProviderID(name string) string { return regionID + "." + InstanceID(name) }

// Region returns the region of all instances.
func (s *Server) Region() string { return regionID }

// describeInstances lists the instances with the identities, the addresses, the VPC and the tag that a request names.
func (s *Server) describeInstances(parameters url.Values) (object, *apiError) {
	ids, failed := stringsIn(parameters, "InstanceIds")
	if failed != nil {
		return nil, failed
	}
	addresses, failed := stringsIn(parameters, "PrivateIpAddresses")
	if failed != nil {
		return nil, failed
	}
	found := []object{}
	for _, machine := range s.Known() {
		if s.admits(parameters) && (ids == nil || slices.Contains(ids, InstanceID(machine.Name))) &&
			(addresses == nil || slices.Contains(addresses, machine.Addresses[0])) {
			found = append(found, s.describe(machine))
		}
	}
	return page(parameters, found)
}

// admits reports whether the instances are what a request looks for. All are in one region and one VPC, with one tag.
func (s *Server) admits(parameters url.Values) bool {
	return parameters.Get("RegionId") == regionID && isOf(parameters, "VpcId", vpcID) &&
		isOf(parameters, "Tag.1.Key", clusterTag) && isOf(parameters, "InstanceNetworkType", "vpc")
}

// isOf reports whether a parameter is not set, or has a value.
func isOf(parameters url.Values, name, value string) bool {
	given := parameters.Get(name)
	return given == "" || given == value
}

// page returns a page of instances: the one that NextToken names, or the first.
func page(parameters url.Values, found []object) (object, *apiError) {
	size, from, total := defaultPage, 0, len(found)
	var err error
	if text := parameters.Get("MaxResults"); text != "" {
		if size, err = strconv.Atoi(text); err != nil || size < 1 {
			return nil, invalid("MaxResults")
		}
	}
	if token := parameters.Get("NextToken"); token != "" {
		if from, err = strconv.Atoi(token); err != nil || from < 1 || from > total {
			return nil, invalid("NextToken")
		}
	}
	answer := object{"RequestId": standin.RandomHex(), "TotalCount": total, "PageNumber": 1, "PageSize": size,
		"NextToken": ""}
	to := min(from+size, total)
	if to < total {
		answer["NextToken"] = strconv.Itoa(to)
	}
	answer["Instances"] = object{"Instance": found[from:to]}
	return answer, nil
}

// describe returns an instance in the form of the API.
func (s *Server) describe(machine machines.Machine) object {
	status := "Running"
	if machine.Stopped {
		status = "Stopped"
	}
	none := object{"IpAddress": []string{}}
	return object{
		"InstanceId": InstanceID(machine.Name), "InstanceName": machine.Name, "HostName": machine.Name, "Status": status,
		"RegionId": regionID, "ZoneId": s.Zone(machine.Name), "InstanceType": instanceType,
		"InstanceNetworkType": "vpc", "Cpu": 4, "Memory": 16384, "CreationTime": "2026-01-01T00:00Z",
		"SerialNumber": s.SystemUUID(machine.Name),
		"VpcAttributes": object{"VpcId": vpcID, "VSwitchId": vSwitchID, "NatIpAddress": "",
			"PrivateIpAddress": object{"IpAddress": machine.Addresses}},
		"PublicIpAddress": none, "InnerIpAddress": none, "EipAddress": object{"IpAddress": "", "AllocationId": ""},
		"Tags": object{"Tag": []object{
			{"TagKey": clusterTag, "TagValue": seed.InfrastructureName},
			{"TagKey": "kubernetes.io/cluster/" + seed.InfrastructureName, "TagValue": "owned"},
		}},
	}
}
