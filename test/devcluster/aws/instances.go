package aws

import (
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

const (
	region       = "eu-central-1"
	account      = "111122223333"
	vpcID        = "vpc-0a1b2c3d4e5f60718"
	instanceType = "m6i.xlarge"
)

// clusterTag is the tag of what belongs to the cluster.
var clusterTag = tag{"kubernetes.io/cluster/" + seed.InfrastructureName, "owned"}

// zones are the availability zones of the region.
var zones = []string{region + "a", region + "b", region + "c"}

// state is the state of an instance.
type state struct {
	Code int    `xml:"code"`
	Name string `xml:"name"`
}

var (
	running    = state{16, "running"}
	terminated = state{48, "terminated"}
	stopped    = state{80, "stopped"}
)

// machine is an instance.
type machine struct {
	machines.Instance
	id, zone string
	state    state
}

// inventory has the instances. The server's mutex guards it.
type inventory struct {
	*machines.Zones
	// Denial is as in another account.
	machines.Denial
	// machines are in the order of their start. Terminated ones stay.
	machines []*machine
}

func newInventory() inventory { return inventory{Zones: machines.NewZones(zones...)} }

// alive returns the instance with a name that is not terminated, or nil.
func (i *inventory) alive(name string) *machine {
	for _, m := range i.machines {
		if m.Name == name && m.state != terminated {
			return m
		}
	}
	return nil
}

// SetInstances makes EC2 have a running instance for each machine; others are terminated. Those that exist stay as they
// are. It returns no error.
func (s *Server) SetInstances(wanted []Instance) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, m := range s.machines {
		if !slices.ContainsFunc(wanted, func(i Instance) bool { return i.Name == m.Name }) {
			m.state = terminated
		}
	}
	for _, instance := range wanted {
		if s.alive(instance.Name) != nil {
			continue
		}
		instance.Addresses = slices.Clone(instance.Addresses)
		s.machines = append(s.machines, &machine{
			Instance: instance,
			// A machine that has the name of another one is another instance.
			id:    fmt.Sprintf("i-0%x", hash(fmt.Sprint(instance.Name, " ", len(s.machines)), 8)),
			zone:  s.Zone(instance.Name),
			state: running,
		})
	}
	return nil
}

// Duplicate makes EC2 have a second running instance with the name of one, or terminates that.
func (s *Server) Duplicate(name string, twice bool) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	original := s.alive(name)
	if original == nil {
		return fmt.Errorf("aws stand-in: no instance %q", name)
	}
	for _, m := range s.machines {
		if m != original && m.Name == name {
			m.state = terminated
		}
	}
	if twice {
		second := *original
		second.id = fmt.Sprintf("i-0%x", hash(fmt.Sprint(name, " ", len(s.machines)), 8))
		s.machines = append(s.machines, &second)
	}
	return nil
}

// hash returns the first bytes of the hash of a text.
func hash(text string, length int) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:length]
}

// StopInstance stops an instance.
func (s *Server) StopInstance(name string) error { return s.setState(name, stopped) }

// StartInstance starts a stopped instance.
func (s *Server) StartInstance(name string) error { return s.setState(name, running) }

func (s *Server) setState(name string, wanted state) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	m := s.alive(name)
	if m == nil {
		return fmt.Errorf("aws stand-in: no instance %q", name)
	}
	m.state = wanted
	return nil
}

// ProviderID is the one that the cloud-controller-manager gives the Node of an instance; empty if there is none.
func (s *Server) ProviderID(name string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	m := s.alive(name)
	if m == nil {
		return ""
	}
	return "aws:///" + m.zone + "/" + m.id
}

// Region returns the region of all instances.
func (s *Server) Region() string { return region }

// SystemUUID returns the UUID in the firmware of an instance, which begins with ec2.
func (s *Server) SystemUUID(name string) string {
	b := hash(name, 16)
	b[0], b[1] = 0xec, 0x20|b[1]&0x0f
	return machines.FormatUUID(b)
}

// filterFields are the filters of instances that are served.
var filterFields = map[string]func(*machine) []string{
	"instance-id":         single(func(m *machine) string { return m.id }),
	"instance-state-name": single(func(m *machine) string { return m.state.Name }),
	"private-dns-name":    single((*machine).privateDNSName),
	"vpc-id":              single(func(*machine) string { return vpcID }),
	"availability-zone":   single(func(m *machine) string { return m.zone }),
}

// privateDNSName returns the name in the VPC, which a terminated instance has lost.
func (m *machine) privateDNSName() string {
	if m.state == terminated {
		return ""
	}
	return m.Name
}

// find returns the instances that an action asks for, by identifiers and filters.
func (s *Server) find(p parameters) ([]machine, *apiError) {
	matches, failed := filter(p, filterFields)
	if failed != nil {
		return nil, failed
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known := s.machines
	if s.Denied() {
		known = nil
	}
	ids := p.list("InstanceId")
	for _, id := range ids {
		if !slices.ContainsFunc(known, func(m *machine) bool { return m.id == id }) {
			return nil, &apiError{http.StatusBadRequest, "InvalidInstanceID.NotFound",
				fmt.Sprintf("The instance ID '%s' does not exist", id)}
		}
	}
	var found []machine
	for _, m := range known {
		if (len(ids) == 0 || slices.Contains(ids, m.id)) && matches(m) {
			found = append(found, *m)
		}
	}
	return found, nil
}

// The forms of the answers.
type (
	describeInstancesResponse struct {
		XMLName      xml.Name      `xml:"http://ec2.amazonaws.com/doc/2016-11-15/ DescribeInstancesResponse"`
		RequestID    string        `xml:"requestId"`
		Reservations []reservation `xml:"reservationSet>item"`
		NextToken    string        `xml:"nextToken,omitempty"`
	}
	reservation struct {
		ID        string     `xml:"reservationId"`
		Instances []instance `xml:"instancesSet>item"`
	}
	instance struct {
		ID               string             `xml:"instanceId"`
		Type             string             `xml:"instanceType"`
		State            state              `xml:"instanceState"`
		Zone             string             `xml:"placement>availabilityZone"`
		PrivateDNSName   string             `xml:"privateDnsName"`
		PrivateIPAddress string             `xml:"privateIpAddress,omitempty"`
		VPC              string             `xml:"vpcId,omitempty"`
		Subnet           string             `xml:"subnetId,omitempty"`
		Tags             []tag              `xml:"tagSet>item"`
		Groups           []groupIdentifier  `xml:"groupSet>item"`
		Interfaces       []networkInterface `xml:"networkInterfaceSet>item"`
	}
	tag struct {
		Key   string `xml:"key"`
		Value string `xml:"value"`
	}
	networkInterface struct {
		Status    string           `xml:"status"`
		Device    int              `xml:"attachment>deviceIndex"`
		Addresses []privateAddress `xml:"privateIpAddressesSet>item"`
	}
	privateAddress struct {
		Address string `xml:"privateIpAddress"`
		Primary bool   `xml:"primary"`
	}
)

func (s *Server) describeInstances(p parameters) (any, *apiError) {
	found, failed := s.find(p)
	if failed != nil {
		return nil, failed
	}
	from, to, next, failed := p.page(len(found))
	if failed != nil {
		return nil, failed
	}
	answer := describeInstancesResponse{RequestID: standin.RandomHex(), NextToken: next}
	for _, m := range found[from:to] {
		answer.Reservations = append(answer.Reservations,
			reservation{ID: "r-" + strings.TrimPrefix(m.id, "i-"), Instances: []instance{m.describe()}})
	}
	return answer, nil
}

// describe returns an instance as EC2 describes it. A terminated one has lost its network.
func (m *machine) describe() instance {
	described := instance{
		ID: m.id, Type: instanceType, State: m.state, Zone: m.zone, PrivateDNSName: m.privateDNSName(),
		Tags: []tag{{"Name", m.Name}, clusterTag},
	}
	if m.state == terminated {
		return described
	}
	described.VPC, described.Subnet = vpcID, privateSubnet(m.zone).ID
	described.Groups = []groupIdentifier{{nodeGroupID, nodeGroupName}}
	card := networkInterface{Status: "in-use"}
	for i, address := range m.Addresses {
		card.Addresses = append(card.Addresses, privateAddress{Address: address, Primary: i == 0})
	}
	if len(m.Addresses) > 0 {
		described.PrivateIPAddress = m.Addresses[0]
	}
	described.Interfaces = []networkInterface{card}
	return described
}

type describeInstanceTopologyResponse struct {
	XMLName   xml.Name `xml:"http://ec2.amazonaws.com/doc/2016-11-15/ DescribeInstanceTopologyResponse"`
	RequestID string   `xml:"requestId"`
	// Instances is empty: EC2 knows the topology of types for high-performance computing only.
	Instances struct{} `xml:"instanceSet"`
}

func (s *Server) describeInstanceTopology(p parameters) (any, *apiError) {
	if _, failed := s.find(p); failed != nil {
		return nil, failed
	}
	return describeInstanceTopologyResponse{RequestID: standin.RandomHex()}, nil
}

type (
	describeAvailabilityZonesResponse struct {
		XMLName   xml.Name `xml:"http://ec2.amazonaws.com/doc/2016-11-15/ DescribeAvailabilityZonesResponse"`
		RequestID string   `xml:"requestId"`
		Zones     []zone   `xml:"availabilityZoneInfo>item"`
	}
	zone struct {
		Name   string `xml:"zoneName"`
		ID     string `xml:"zoneId"`
		Type   string `xml:"zoneType"`
		State  string `xml:"zoneState"`
		Region string `xml:"regionName"`
	}
)

func (s *Server) describeAvailabilityZones(parameters) (any, *apiError) {
	answer := describeAvailabilityZonesResponse{RequestID: standin.RandomHex()}
	for i, name := range zones {
		answer.Zones = append(answer.Zones, zone{
			Name: name, ID: fmt.Sprintf("euc1-az%d", i+1), Type: "availability-zone", State: "available", Region: region,
		})
	}
	return answer, nil
}
