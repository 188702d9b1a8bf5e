package ibm

import (
	"maps"
	"net"
	"net/http"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
)

// The names of the cloud's endpoints.
const (
	publicIAM       = "iam.cloud.ibm.com"
	privateIAM      = "private.iam.cloud.ibm.com"
	resourceManager = "resource-controller.cloud.ibm.com"
	publicVPC       = regionName + ".iaas.cloud.ibm.com"
	privateVPC      = regionName + ".private.iaas.cloud.ibm.com"
	// defaultVPC is asked for the endpoint of the region.
	defaultVPC = "us-south.iaas.cloud.ibm.com"

	customIAM             = "iam.endpoints.example.com"
	customResourceManager = "rm.endpoints.example.com"
	customVPC             = "vpc.endpoints.example.com"
	// customPower is another endpoint of IBM Cloud: the Go SDK of Power takes every other name for that of a staging
	// environment, which the CRN in its requests then names (crnBuilder).
	customPower = "private." + powerHost
)

var (
	ownHosts    = []string{publicIAM, privateIAM, resourceManager, publicVPC, privateVPC, defaultVPC, powerHost}
	customHosts = []string{customIAM, customResourceManager, customVPC, customPower}
)

// Redirect writes endpoints to Infrastructure that an administrator may give the cluster instead of IBM Cloud's own.
// They may have their versions.
func (s *Server) Redirect(status *configv1.PlatformStatus) {
	iam, manager, vpc := "https://"+customIAM+"/v1", "https://"+customResourceManager+"/v2", "https://"+customVPC+"/v1"
	if s.isPower {
		status.PowerVS.ServiceEndpoints = []configv1.PowerVSServiceEndpoint{
			{Name: "IAM", URL: iam}, {Name: "ResourceManager", URL: manager}, {Name: "VPC", URL: vpc},
			{Name: "Power", URL: "https://" + customPower},
		}
		return
	}
	status.IBMCloud.ServiceEndpoints = []configv1.IBMCloudServiceEndpoint{
		{Name: configv1.IBMCloudServiceIAM, URL: iam},
		{Name: configv1.IBMCloudServiceResourceManager, URL: manager},
		{Name: configv1.IBMCloudServiceVPC, URL: vpc},
	}
}

// AskedOwn counts the requests so far to IBM Cloud's own endpoints, and AskedCustom those to the ones of Redirect.
func (s *Server) AskedOwn() int { return s.askedAt(ownHosts) }

// AskedCustom is described at AskedOwn.
func (s *Server) AskedCustom() int { return s.askedAt(customHosts) }

func (s *Server) askedAt(hosts []string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	count := 0
	for name, asked := range maps.All(s.asked) {
		if slices.Contains(hosts, name) {
			count += asked
		}
	}
	return count
}

// countHosts counts the requests by the name of their endpoint.
func (s *Server) countHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = r.Host // there is no port
		}
		s.mutex.Lock()
		s.asked[name]++
		s.mutex.Unlock()
		next.ServeHTTP(w, r)
	})
}
