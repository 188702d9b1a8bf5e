package ibm

import (
	"net/http"
	"strings"
)

const (
	created = "2026-01-01T00:00:00Z"
	// prefix begins the identities of what belongs to the whole region.
	prefix = "r010-"
)

var (
	vpcReference   = object{"id": prefix + identity(vpcName), "name": vpcName, "resource_type": "vpc"}
	groupReference = object{"id": identity("group " + groupName), "name": groupName}
)

// subnetName is the name of the cluster's subnet in a zone.
func subnetName(zone string) string { return vpcName + "-subnet-" + zone }

// subnetNames are the names of the cluster's subnets.
func subnetNames() string {
	var names []string
	for _, zone := range zones {
		names = append(names, subnetName(zone))
	}
	return strings.Join(names, ",")
}

func subnetReference(zone string) object {
	return object{"id": identify(subnetName(zone)), "name": subnetName(zone), "resource_type": "subnet"}
}

// listSubnets lists the subnets of all VPCs, the last one of which has no machine of the cluster.
func (s *Server) listSubnets(r *http.Request) (int, any, *apiError) {
	found := []object{}
	for _, zone := range zones {
		found = append(found, describeSubnet(subnetName(zone), zone, vpcReference))
	}
	other := object{"id": prefix + identity("other"), "name": "other", "resource_type": "vpc"}
	found = append(found, describeSubnet("other", zones[0], other))
	return http.StatusOK, page(r, "subnets", found), nil
}

func describeSubnet(name, zone string, vpc object) object {
	return object{
		"id": identify(name), "name": name, "status": "available", "created_at": created, "ip_version": "ipv4",
		"ipv4_cidr_block": "10.200.0.0/24", "available_ipv4_address_count": 200, "total_ipv4_address_count": 256,
		"resource_type": "subnet", "zone": object{"name": zone}, "vpc": vpc, "resource_group": groupReference,
	}
}

// page returns the page of a list that a request asks for, with a link to the next one.
func page(r *http.Request, name string, all []object) object {
	const defaultSize = 50
	size := queryNumber(r, "limit", defaultSize)
	start := r.URL.Query().Get("start")
	first := 0
	for i, item := range all {
		if item["id"] == start {
			first = i
		}
	}
	last := min(first+size, len(all))
	found := object{name: all[first:last], "limit": size, "total_count": len(all), "first": object{"href": pageURL(r, "")}}
	if last < len(all) {
		found["next"] = object{"href": pageURL(r, all[last]["id"].(string))}
	}
	return found
}
