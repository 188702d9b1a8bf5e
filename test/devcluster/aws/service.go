package aws

import (
	"encoding/xml"
	"net/http"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The versions of the APIs. All services have one endpoint here: the version of a request says which one it is for.
const (
	computeVersion   = "2016-11-15"
	balancingVersion = "2015-12-01"
	classicVersion   = "2012-06-01"
	tokenVersion     = "2011-06-15"
)

// service is a service with the Query API.
type service struct {
	// name is in the scope of its signatures. unsigned says that its requests have none.
	name     string
	unsigned bool
	actions  map[string]action
	// failure and wrap give errors and answers their form.
	failure func(e *apiError) any
	wrap    func(action string, answer any) any
}

// action serves an action.
type action func(p parameters) (any, *apiError)

func (s *Server) newServices() map[string]*service {
	return map[string]*service{
		computeVersion: {
			name: "ec2",
			actions: map[string]action{
				DescribeInstances:             s.describeInstances,
				DescribeInstanceTopology:      s.describeInstanceTopology,
				DescribeAvailabilityZones:     s.describeAvailabilityZones,
				DescribeSubnets:               describeSubnets,
				DescribeRouteTables:           describeRouteTables,
				DescribeSecurityGroups:        s.locked(s.describeSecurityGroups),
				CreateSecurityGroup:           s.locked(s.createSecurityGroup),
				DeleteSecurityGroup:           s.locked(s.deleteSecurityGroup),
				AuthorizeSecurityGroupIngress: s.locked(s.authorizeIngress),
				RevokeSecurityGroupIngress:    s.locked(s.revokeIngress),
			},
			failure: newFailure,
			wrap:    func(_ string, answer any) any { return answer },
		},
		balancingVersion: {
			name: "elasticloadbalancing",
			actions: map[string]action{
				DescribeLoadBalancers:          s.locked(s.describeLoadBalancers),
				DescribeLoadBalancerAttributes: s.locked(s.describeLoadBalancerAttributes),
				CreateLoadBalancer:             s.locked(s.createLoadBalancer),
				DeleteLoadBalancer:             s.locked(s.deleteLoadBalancer),
				DescribeListeners:              s.locked(s.describeListeners),
				CreateListener:                 s.locked(s.createListener),
				DescribeTargetGroups:           s.locked(s.describeTargetGroups),
				DescribeTargetHealth:           s.locked(s.describeTargetHealth),
				CreateTargetGroup:              s.locked(s.createTargetGroup),
				ModifyTargetGroup:              s.locked(s.modifyTargetGroup),
				DeleteTargetGroup:              s.locked(s.deleteTargetGroup),
				RegisterTargets:                s.locked(s.registerTargets),
				DeregisterTargets:              s.locked(s.deregisterTargets),
			},
			failure: newBalancingFailure,
			wrap:    wrapBalancing,
		},
		classicVersion: {
			name:    "elasticloadbalancing",
			actions: s.classicActions(),
			failure: newBalancingFailure,
			wrap:    wrapBalancing,
		},
		tokenVersion: {
			name:     "sts",
			unsigned: true,
			actions:  map[string]action{AssumeRoleWithWebIdentity: s.locked(s.assumeRole)},
			failure:  newBalancingFailure,
			wrap:     wrapBalancing,
		},
	}
}

func (s *Server) classicActions() map[string]action {
	return map[string]action{
		DescribeLoadBalancers:          s.locked(s.describeClassics),
		DescribeLoadBalancerAttributes: s.locked(s.describeClassicAttributes),
		ModifyLoadBalancerAttributes:   s.locked(s.modifyClassicAttributes),
		CreateLoadBalancer:             s.locked(s.createClassic),
		DeleteLoadBalancer:             s.locked(s.deleteClassic),
		ConfigureHealthCheck:           s.locked(s.configureHealthCheck),
		RegisterInstances:              s.locked(s.registerInstances),
		DeregisterInstances:            s.locked(s.deregisterInstances),
	}
}

// locked serves an action that needs the mutex.
func (s *Server) locked(handle action) action {
	return func(p parameters) (any, *apiError) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return handle(p)
	}
}

// apiError is an answer that is not the wanted one.
type apiError struct {
	status        int
	code, message string
}

func (s *service) write(w http.ResponseWriter, e *apiError) { writeXML(w, e.status, s.failure(e)) }

// refuse is the answer to a request that Fail makes fail. EC2 throttles with another status than 429.
func (s *service) refuse(w http.ResponseWriter, status int) {
	e := &apiError{status, "Unavailable", http.StatusText(status)}
	switch {
	case status == http.StatusTooManyRequests:
		e = &apiError{http.StatusServiceUnavailable, "RequestLimitExceeded", "Request limit exceeded."}
	case status == http.StatusUnauthorized:
		e.code = "AuthFailure"
	case status == http.StatusNotImplemented:
		e.code = "InvalidAction"
	case status < http.StatusInternalServerError:
		e.code = "UnauthorizedOperation"
	}
	s.write(w, e)
}

// errorResponse is the form of EC2's errors.
type errorResponse struct {
	XMLName   xml.Name `xml:"Response"`
	Code      string   `xml:"Errors>Error>Code"`
	Message   string   `xml:"Errors>Error>Message"`
	RequestID string   `xml:"RequestID"`
}

func newFailure(e *apiError) any {
	return errorResponse{Code: e.code, Message: e.message, RequestID: standin.RandomHex()}
}

// balancingNamespace is the namespace of the answers of Elastic Load Balancing.
const balancingNamespace = "http://elasticloadbalancing.amazonaws.com/doc/" + balancingVersion + "/"

// balancingError is the form of the errors of Elastic Load Balancing, as of most services.
type balancingError struct {
	XMLName   xml.Name `xml:"http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/ ErrorResponse"`
	Type      string   `xml:"Error>Type"`
	Code      string   `xml:"Error>Code"`
	Message   string   `xml:"Error>Message"`
	RequestID string   `xml:"RequestId"`
}

func newBalancingFailure(e *apiError) any {
	return balancingError{Type: "Sender", Code: e.code, Message: e.message, RequestID: standin.RandomHex()}
}

// balancingResponse has the result of an action, which names itself.
type balancingResponse struct {
	XMLName   xml.Name
	Result    any
	RequestID string `xml:"ResponseMetadata>RequestId"`
}

func wrapBalancing(action string, result any) any {
	return balancingResponse{
		XMLName: xml.Name{Space: balancingNamespace, Local: action + "Response"}, Result: result,
		RequestID: standin.RandomHex(),
	}
}
