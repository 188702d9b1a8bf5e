package aws

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The forms of the answers.
type (
	subnet struct {
		ID    string `xml:"subnetId"`
		VPC   string `xml:"vpcId"`
		Zone  string `xml:"availabilityZone"`
		CIDR  string `xml:"cidrBlock"`
		State string `xml:"state"`
		Tags  []tag  `xml:"tagSet>item"`
	}
	describeSubnetsResponse struct {
		XMLName   xml.Name `xml:"http://ec2.amazonaws.com/doc/2016-11-15/ DescribeSubnetsResponse"`
		RequestID string   `xml:"requestId"`
		Subnets   []subnet `xml:"subnetSet>item"`
	}
	routeTable struct {
		ID           string             `xml:"routeTableId"`
		VPC          string             `xml:"vpcId"`
		Associations []routeAssociation `xml:"associationSet>item"`
		Routes       []route            `xml:"routeSet>item"`
	}
	routeAssociation struct {
		Subnet string `xml:"subnetId,omitempty"`
		Main   bool   `xml:"main"`
	}
	route struct {
		Destination string `xml:"destinationCidrBlock"`
		Gateway     string `xml:"gatewayId"`
	}
	describeRouteTablesResponse struct {
		XMLName   xml.Name     `xml:"http://ec2.amazonaws.com/doc/2016-11-15/ DescribeRouteTablesResponse"`
		RequestID string       `xml:"requestId"`
		Tables    []routeTable `xml:"routeTableSet>item"`
	}
)

// subnets are those of the installer: in each zone a private one for the instances, then the public ones.
var subnets = newSubnets()

func newSubnets() []subnet {
	var all []subnet
	for _, kind := range []string{"private", "public"} {
		for _, zone := range zones {
			name := seed.InfrastructureName + "-subnet-" + kind + "-" + zone
			role := "kubernetes.io/role/elb"
			if kind == "private" {
				role = "kubernetes.io/role/internal-elb"
			}
			all = append(all, subnet{
				ID: fmt.Sprintf("subnet-0%x", hash(name, 8)), VPC: vpcID, Zone: zone,
				CIDR:  fmt.Sprintf("10.0.%d.0/24", len(all)),
				State: "available", Tags: []tag{{"Name", name}, clusterTag, {role, ""}},
			})
		}
	}
	return all
}

// privateSubnet returns the subnet of the instances in a zone.
func privateSubnet(zone string) subnet { return subnets[slices.Index(zones, zone)] }

var subnetFields = map[string]func(subnet) []string{
	"vpc-id":    single(func(s subnet) string { return s.VPC }),
	"subnet-id": single(func(s subnet) string { return s.ID }),
}

func describeSubnets(p parameters) (any, *apiError) {
	matches, failed := filter(p, subnetFields)
	if failed != nil {
		return nil, failed
	}
	ids := p.list("SubnetId")
	for _, id := range ids {
		if !slices.ContainsFunc(subnets, func(s subnet) bool { return s.ID == id }) {
			return nil, &apiError{http.StatusBadRequest, "InvalidSubnetID.NotFound",
				fmt.Sprintf("The subnet ID '%s' does not exist", id)}
		}
	}
	answer := describeSubnetsResponse{RequestID: standin.RandomHex()}
	for _, s := range subnets {
		if (len(ids) == 0 || slices.Contains(ids, s.ID)) && matches(s) {
			answer.Subnets = append(answer.Subnets, s)
		}
	}
	return answer, nil
}

// describeRouteTables answers with the VPC's main table, and that of the public subnets with the internet gateway.
func describeRouteTables(p parameters) (any, *apiError) {
	matches, failed := filter(p, map[string]func(routeTable) []string{
		"vpc-id": single(func(t routeTable) string { return t.VPC }),
	})
	if failed != nil {
		return nil, failed
	}
	public := routeTable{ID: "rtb-0b1c2d3e4f506172", VPC: vpcID, Routes: []route{{"0.0.0.0/0", "igw-0b1c2d3e4f506172"}}}
	for _, s := range subnets[len(zones):] {
		public.Associations = append(public.Associations, routeAssociation{Subnet: s.ID})
	}
	answer := describeRouteTablesResponse{RequestID: standin.RandomHex()}
	for _, table := range []routeTable{{
		ID: "rtb-0a1b2c3d4e5f6071", VPC: vpcID, Associations: []routeAssociation{{Main: true}},
		Routes: []route{{"10.0.0.0/16", "local"}},
	}, public} {
		if matches(table) {
			answer.Tables = append(answer.Tables, table)
		}
	}
	return answer, nil
}
