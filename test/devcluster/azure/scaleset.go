package azure

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	scaleSetsPath = "Microsoft.Compute/virtualMachineScaleSets/"
	// memberInterfacesPath begins with a small letter, as in the SDK's requests. Azure ignores case.
	memberInterfacesPath = "microsoft.Compute/virtualMachineScaleSets/{set}/virtualMachines/{instance}/networkInterfaces/"
	// idDigits is the length of the instance ID, in base 36, at the end of a member's computer name.
	idDigits = 6
)

// memberID returns the instance ID in the computer name of a member of a scale set. Azure makes the computer name of
// the scale set's and the instance ID, and the provider finds the scale set of a Node by that.
func memberID(set, name string) (id string, is bool) {
	at := len(name) - idDigits
	if at < 0 || !strings.EqualFold(name[:at], set) {
		return "", false
	}
	number, err := strconv.ParseUint(name[at:], 36, 64)
	return strconv.FormatUint(number, 10), err == nil
}

// setOf returns the scale set that a computer name belongs to, and the instance ID. Both are "" for a virtual machine
// of its own.
func (i *inventory) setOf(name string) (set, id string) {
	for _, set := range i.scaleSets {
		if id, is := memberID(set, name); is {
			return set, id
		}
	}
	return "", ""
}

// SetScaleSet makes the cloud have a uniform scale set with a member for each machine; its other members are deleted.
// Those that exist stay as they are. A machine's name is the computer name that Azure would choose: the scale set's
// name and the instance ID in six digits of base 36, such as worker00000a. SetInstances ignores such names from now on.
func (s *Server) SetScaleSet(name string, instances []Instance) error {
	for _, m := range instances {
		if _, is := memberID(name, m.Name); !is {
			return fmt.Errorf("azure stand-in: member %q: must have the name of the scale set, %q, and %d digits of base 36",
				m.Name, name, idDigits)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !slices.Contains(s.scaleSets, name) {
		s.scaleSets = append(s.scaleSets, name)
	}
	s.replace(name, instances)
	return nil
}

// DeleteScaleSet deletes a scale set with its members.
func (s *Server) DeleteScaleSet(name string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	i := slices.Index(s.scaleSets, name)
	if i < 0 {
		return fmt.Errorf("azure stand-in: no scale set %q", name)
	}
	s.replace(name, nil)
	s.scaleSets = slices.Delete(s.scaleSets, i, i+1)
	return nil
}

// The forms of the answers about scale sets.
type (
	scaleSet struct {
		resource
		SKU        skuName            `json:"sku"`
		Properties scaleSetProperties `json:"properties"`
	}
	scaleSetProperties struct {
		ProvisioningState string          `json:"provisioningState"`
		OrchestrationMode string          `json:"orchestrationMode"`
		Profile           scaleSetProfile `json:"virtualMachineProfile"`
	}
	scaleSetProfile struct {
		OSProfile scaleSetNames `json:"osProfile"`
	}
	scaleSetNames struct {
		Prefix string `json:"computerNamePrefix"`
	}
	member struct {
		resource
		InstanceID string            `json:"instanceId"`
		SKU        skuName           `json:"sku"`
		Zones      []string          `json:"zones,omitempty"`
		Properties machineProperties `json:"properties"`
	}
	skuName struct {
		Name string `json:"name"`
	}
)

func (s *Server) listScaleSets(*http.Request) (int, any, *apiError) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found := []any{}
	for _, name := range s.scaleSets {
		if s.Denied() {
			continue
		}
		found = append(found, scaleSet{
			resource: s.describe(scaleSetsPath, name),
			SKU:      skuName{machineSize},
			Properties: scaleSetProperties{
				ProvisioningState: succeeded,
				OrchestrationMode: "Uniform",
				Profile:           scaleSetProfile{scaleSetNames{name}},
			},
		})
	}
	return http.StatusOK, object{"value": found}, nil
}

func (s *Server) listMembers(r *http.Request) (int, any, *apiError) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	wanted := r.PathValue("set")
	isWanted := func(name string) bool { return strings.EqualFold(name, wanted) }
	if s.Denied() || !slices.ContainsFunc(s.scaleSets, isWanted) {
		return 0, nil, &apiError{http.StatusNotFound, "ParentResourceNotFound", fmt.Sprintf(
			"Can not perform requested operation on nested resource. Parent resource '%s' not found.", wanted)}
	}
	found := []any{}
	for _, m := range s.machines {
		if isWanted(m.set) {
			found = append(found, s.describeMember(*m, expandsView(r)))
		}
	}
	return http.StatusOK, object{"value": found}, nil
}

func (s *Server) describeMember(m machine, withView bool) member {
	answer := member{
		resource: resource{
			ID: m.resourceID(), Name: m.vmName(), Type: "Microsoft.Compute/virtualMachineScaleSets/virtualMachines",
			Location: s.cloud.location,
		},
		InstanceID: m.id,
		SKU:        skuName{machineSize},
		Zones:      m.zones(),
		Properties: s.describeProperties(m, withView),
	}
	answer.Properties.HardwareProfile.VMSize = "" // it is the SKU of a member
	return answer
}

func (s *Server) getMemberInterface(r *http.Request) (int, any, *apiError) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	name := r.PathValue("name")
	m := s.find(func(m *machine) bool {
		return strings.EqualFold(m.set, r.PathValue("set")) && m.id == r.PathValue("instance") &&
			strings.EqualFold(lastSegment(m.interfaceID()), name)
	})
	if m == nil || s.Denied() {
		return 0, nil, notFound(interfacesPath, name)
	}
	return http.StatusOK, s.describeInterface(*m), nil
}
