package azure

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The endpoints, as Requests counts them and Fail takes them.
const (
	// GetToken is the login, and GetLogin and GetInstances are how clients find it.
	GetToken     = "POST token"
	GetLogin     = "GET openid-configuration"
	GetInstances = "GET discovery"
	// GetCloud is how clients find the login of an Azure Stack Hub.
	GetCloud = "GET endpoints"
	// These are resources of the resource manager. GetProvider has the availability zones.
	GetMachine   = "GET virtualMachines"
	GetInterface = "GET networkInterfaces"
	GetProvider  = "GET providers"
	// These are of the members of scale sets.
	ListMembers        = "LIST virtualMachineScaleSets/virtualMachines"
	GetMemberInterface = "GET virtualMachineScaleSets/virtualMachines/networkInterfaces"
	// ListLinks are the private link services, which an Azure Stack Hub does not have.
	ListLinks = "LIST privateLinkServices"
	// The others are a method, or LIST, and a kind: PUT networkInterfaces, LIST loadBalancers.

	// These are parts of the instance metadata service.
	GetInstance     = "GET instance"
	GetLoadBalancer = "GET loadbalancer"
)

// Options configure a Server.
type Options struct {
	// Listen is the address and port of the one listener for the resource manager and the login, such as
	// "10.200.0.1:443". Only with port 443 do clients reach Azure's fixed endpoints.
	Listen string
	// Dir is the directory that receives ca.crt and requests.log for a human to look around with. Empty means that
	// nothing is written.
	Dir string
	// Stack makes it an Azure Stack Hub.
	Stack bool
	// BehindProxy says that clients reach the port 443 of its hosts through a proxy, whatever the listener's port is.
	BehindProxy bool
}

// Instance is a machine that the cloud runs.
type Instance = machines.Instance

// cloud has what differs between Azure and an Azure Stack Hub.
type cloud struct {
	// manager and login are the hosts of the resource manager and the login.
	manager, login string
	// audiences are those of the resource manager's tokens.
	audiences []string
	// tenant is the first part of the login's paths.
	tenant string
	// discovery and token are the paths of the login.
	discovery, token string
	location         string
	// zones are the availability zones of the location.
	zones []string
}

var (
	publicCloud = cloud{
		manager:   "management.azure.com",
		login:     "login.microsoftonline.com",
		audiences: []string{"https://management.core.windows.net/", "https://management.azure.com/"},
		tenant:    "11111111-2222-3333-4444-555555555555",
		discovery: "/v2.0/.well-known/openid-configuration",
		token:     "/oauth2/v2.0/token",
		location:  "westeurope",
		zones:     []string{"1", "2", "3"},
	}
	// stackHub logs in with AD FS, as it does when it is disconnected from Azure.
	stackHub = cloud{
		manager:   "management.local.azurestack.example.com",
		login:     "adfs.local.azurestack.example.com",
		audiences: []string{"https://management.adfs.azurestack.example.com/1e2f3a4b"},
		tenant:    "adfs",
		discovery: "/.well-known/openid-configuration",
		token:     "/oauth2/token",
		location:  "local",
	}
)

// Server is a running stand-in. Its methods may be called at any time and from any goroutine.
type Server struct {
	*standin.Server
	// Rotation has the client secrets of the application, and its tokens.
	*credentials.Rotation

	cloud   cloud
	stack   bool
	proxied bool

	mutex sync.Mutex
	inventory
	network
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	s := &Server{cloud: publicCloud, stack: options.Stack, proxied: options.BehindProxy,
		Rotation: credentials.New(newClientSecret)}
	name := "azure"
	if s.stack {
		s.cloud, name = stackHub, "azurestack"
	}
	s.inventory, s.network = newInventory(s.cloud.zones), newNetwork(s.cloud.location)
	var err error
	s.Server, err = standin.New(ctx, name, standin.Options{Listen: options.Listen, Dir: options.Dir}, s.cloud.manager,
		s.cloud.login)
	if err != nil {
		return nil, err
	}
	s.Serve(ctx, s.handler())
	return s, nil
}

// url returns the URL of a path on one of the stand-in's hosts.
func (s *Server) url(host, path string) string {
	if s.proxied {
		return "https://" + host + path
	}
	return s.URLAt(host, path)
}

const (
	subscriptionPath = "/subscriptions/{subscription}"
	groupPath        = subscriptionPath + "/resourceGroups/{group}/providers/"
	machinesPath     = "Microsoft.Compute/virtualMachines/"
	interfacesPath   = "Microsoft.Network/networkInterfaces/"
)

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(name, pattern string, handle http.HandlerFunc) {
		mux.HandleFunc(pattern, s.Endpoint(name, refuse, handle))
	}
	login, manager := s.cloud.login+"/"+s.cloud.tenant, s.cloud.manager
	handle(GetLogin, "GET "+login+s.cloud.discovery, s.getLogin)
	handle(GetToken, "POST "+login+s.cloud.token, s.getToken)
	if s.stack {
		handle(GetCloud, "GET "+manager+"/metadata/endpoints", s.getCloud)
	} else {
		handle(GetLogin, "GET "+s.cloud.login+"/{tenant}"+s.cloud.discovery, refuseTenant)
		handle(GetInstances, "GET "+s.cloud.login+"/common/discovery/instance", s.getInstances)
		handle(GetProvider, "GET "+manager+subscriptionPath+"/providers/{namespace}", s.managed(s.getProvider))
	}
	handle(ListLinks, "GET "+manager+groupPath+networkPath+"privateLinkServices", s.managed(s.listLinks))
	group := " " + manager + groupPath
	handle(GetMachine, "GET"+group+machinesPath+"{name}", s.managed(s.getMachine))
	handle("LIST virtualMachines", "GET"+group+strings.TrimSuffix(machinesPath, "/"), s.managed(s.listMachines))
	handle("LIST virtualMachineScaleSets", "GET"+group+strings.TrimSuffix(scaleSetsPath, "/"),
		s.managed(s.listScaleSets))
	handle(ListMembers, "GET"+group+scaleSetsPath+"{set}/virtualMachines", s.managed(s.listMembers))
	handle(GetMemberInterface, "GET"+group+memberInterfacesPath+"{name}", s.managed(s.getMemberInterface))
	handle(GetInterface, "GET"+group+interfacesPath+"{name}", s.managed(s.getInterface))
	handle("PUT networkInterfaces", "PUT"+group+interfacesPath+"{name}", s.managed(s.putInterface))
	for _, kind := range []string{loadBalancers, publicIPs, securityGroups} {
		path := group + networkPath + kind
		handle("LIST "+kind, "GET"+path, s.managed(s.listResources(kind)))
		handle("GET "+kind, "GET"+path+"/{name}", s.managed(s.getResource(kind)))
		handle("PUT "+kind, "PUT"+path+"/{name}", s.managed(s.putResource(kind)))
		handle("DELETE "+kind, "DELETE"+path+"/{name}", s.managed(s.deleteResource(kind)))
	}
	mux.HandleFunc("/", s.NotServed(refuse))
	return mux
}

func (s *Server) listLinks(r *http.Request) (status int, body any, failed *apiError) {
	if s.stack {
		return 0, nil, &apiError{http.StatusNotFound, "InvalidResourceType",
			"The resource type could not be found: " + r.URL.Path + "."}
	}
	return s.listResources("privateLinkServices")(r)
}

// handler returns the status and the body of the answer to a request. There may be no body.
type handler func(r *http.Request) (status int, body any, failed *apiError)

// managed checks what all requests to the resource manager need, and answers with what handle returns.
func (s *Server) managed(handle handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.Authorize(r, credentials.Bearer(r)) {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(
				`Bearer authorization_uri="%s", error="invalid_token", error_description="The access token is invalid."`,
				s.url(s.cloud.login, "/"+s.cloud.tenant)))
			writeError(w, http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid.")
			return
		}
		if failed := checkScope(r); failed != nil {
			failed.write(w)
			return
		}
		status, answer, failed := handle(r)
		if failed != nil {
			failed.write(w)
			return
		}
		writeJSON(w, status, answer)
	}
}

// checkScope checks the version, the subscription and the resource group of a request. Their case does not matter.
func checkScope(r *http.Request) *apiError {
	group := r.PathValue("group")
	switch {
	case r.URL.Query().Get("api-version") == "":
		return &apiError{http.StatusBadRequest, "MissingApiVersionParameter",
			"The api-version query parameter (?api-version=) is required for all requests."}
	case !strings.EqualFold(r.PathValue("subscription"), subscriptionID):
		return &apiError{http.StatusNotFound, "SubscriptionNotFound",
			fmt.Sprintf("The subscription '%s' could not be found.", r.PathValue("subscription"))}
	case group != "" && !strings.EqualFold(group, resourceGroup):
		return &apiError{http.StatusNotFound, "ResourceGroupNotFound",
			fmt.Sprintf("Resource group '%s' could not be found.", group)}
	}
	return nil
}

// apiError is an answer of the resource manager that is not the wanted one.
type apiError struct {
	status        int
	code, message string
}

func (e *apiError) write(w http.ResponseWriter) { writeError(w, e.status, e.code, e.message) }

// refuse is the answer to a request that Fail makes fail.
func refuse(w http.ResponseWriter, status int) {
	writeError(w, status, strings.ReplaceAll(http.StatusText(status), " ", ""), http.StatusText(status))
}

// errorResponse is the form of the resource manager's errors.
type errorResponse struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	answer := errorResponse{}
	answer.Error.Code, answer.Error.Message = code, message
	writeJSON(w, status, answer)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	standin.WriteJSON(w, "application/json; charset=utf-8", status, body)
}
