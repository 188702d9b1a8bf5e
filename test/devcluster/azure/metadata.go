package azure

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The forms of the answers of the instance metadata service.
type (
	instanceMetadata struct {
		Compute computeMetadata `json:"compute"`
		Network networkMetadata `json:"network"`
	}
	computeMetadata struct {
		Environment   string `json:"azEnvironment"`
		Name          string `json:"name"`
		VMID          string `json:"vmId"`
		VMSize        string `json:"vmSize"`
		OSType        string `json:"osType"`
		Location      string `json:"location"`
		Zone          string `json:"zone"`
		FaultDomain   string `json:"platformFaultDomain"`
		ResourceGroup string `json:"resourceGroupName"`
		Subscription  string `json:"subscriptionId"`
		ResourceID    string `json:"resourceId"`
		ScaleSet      string `json:"vmScaleSetName"`
	}
	networkMetadata struct {
		Interface []interfaceMetadata `json:"interface"`
	}
	interfaceMetadata struct {
		IPv4 addressesMetadata `json:"ipv4"`
		IPv6 addressesMetadata `json:"ipv6"`
	}
	addressesMetadata struct {
		Addresses []addressMetadata `json:"ipAddress"`
	}
	addressMetadata struct {
		Private string `json:"privateIpAddress"`
		Public  string `json:"publicIpAddress"`
	}
)

// ServeMetadata serves the instance metadata service, which has neither TLS nor a login: it knows virtual machines by
// their addresses. Close closes the listener. It is called at most once, before Close.
func (s *Server) ServeMetadata(ctx context.Context, listener net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metadata/instance", s.Endpoint(GetInstance, refuse, s.metadataOf(func(m machine) any {
		return s.instanceMetadata(m)
	})))
	mux.HandleFunc("GET /metadata/loadbalancer", s.Endpoint(GetLoadBalancer, refuse, s.metadataOf(func(machine) any {
		return map[string]any{"loadbalancer": map[string]any{"publicIpAddresses": []any{}}}
	})))
	mux.HandleFunc("/", s.Endpoint(standin.Unserved, refuse, func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusNotFound, map[string]string{"error": "Not found"})
	}))
	s.ServePlain(ctx, listener, mux)
}

// metadataOf answers a virtual machine. The header, which a browser cannot be made to send, is required.
func (s *Server) metadataOf(describe func(m machine) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.EqualFold(r.Header.Get("Metadata"), "true") || r.URL.Query().Get("api-version") == "" {
			writeJSON(w, http.StatusBadRequest, map[string]string{
				"error": "Bad request. Required metadata header not specified, or api-version is missing",
			})
			return
		}
		m, known := s.at(r.RemoteAddr)
		if !known {
			writeJSON(w, http.StatusNotFound, map[string]string{"error": "No virtual machine has this address"})
			return
		}
		writeJSON(w, http.StatusOK, describe(m))
	}
}

// at returns the machine with an address.
func (s *Server) at(remote string) (found machine, known bool) {
	host, _, _ := net.SplitHostPort(remote) // net/http gives every connection's
	s.mutex.Lock()
	defer s.mutex.Unlock()
	m := s.find(func(m *machine) bool { return slices.Contains(m.Addresses, host) })
	if m == nil {
		return machine{}, false
	}
	return *m, true
}

func (s *Server) instanceMetadata(m machine) instanceMetadata {
	card := interfaceMetadata{IPv6: addressesMetadata{[]addressMetadata{}}}
	for _, address := range m.Addresses {
		card.IPv4.Addresses = append(card.IPv4.Addresses, addressMetadata{Private: address})
	}
	return instanceMetadata{
		Compute: computeMetadata{
			Environment:   "AzurePublicCloud",
			Name:          m.vmName(),
			VMID:          s.SystemUUID(m.Name),
			VMSize:        machineSize,
			OSType:        "Linux",
			Location:      s.cloud.location,
			Zone:          m.zone,
			FaultDomain:   "0",
			ResourceGroup: resourceGroup,
			Subscription:  subscriptionID,
			ResourceID:    m.resourceID(),
			ScaleSet:      m.set,
		},
		Network: networkMetadata{[]interfaceMetadata{card}},
	}
}
