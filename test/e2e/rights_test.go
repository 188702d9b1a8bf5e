package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/rights"
)

// accounts is the prefix of the user names of all ServiceAccounts in our two namespaces, including the default ones.
const accounts = "system:serviceaccount:" + targetNamespace

// prometheus is the identity of cluster monitoring, which finds the operator and the CCMs by rights of the payload.
const prometheus = "system:serviceaccount:openshift-monitoring:prometheus-k8s"

// preflightUser is the identity of a preflight.
const preflightUser = accounts + ":" + operand + "-preflight"

// everybody matches the authorization reason of requests that every user may make, through Kubernetes' default
// bindings. The matching binding depends on the order of a cache.
var everybody = regexp.MustCompile(`^RBAC: allowed by ClusterRoleBinding "system:(public-info-viewer|discovery)"`)

// ours are the users of the operator, the operand, the installer with the pruner, and the file-syncer.
var ours = []string{
	"system:serviceaccount:" + operatorNamespace + ":cluster-cloud-controller-manager",
	"system:serviceaccount:" + targetNamespace + ":cloud-controller-manager",
	"system:serviceaccount:" + targetNamespace + ":installer-sa",
	"system:serviceaccount:" + targetNamespace + ":file-syncer",
}

// testRights compares the audit log of the whole run with the rights in both directions.
func (s *suite) testRights(t *testing.T) {
	granted := s.requireRights(t, "openstack")
	requests := s.requests(t)
	counts := map[string]int{}
	for _, q := range requests {
		counts[q.Identity]++
	}
	for _, user := range ours {
		require.NotZero(t, counts[user], "%s made requests", user)
		s.figure("requests of %s: %d", strings.TrimPrefix(user, "system:serviceaccount:"), counts[user])
	}
	compared := rights.Compare(granted, slices.Concat(requests, s.bindings(t)), rights.Unused)
	require.Empty(t, compared.Unused, "rights that the run did not use: remove them, or say in rights.Unused why not")
	require.Empty(t, compared.Outdated, "rights.Unused")
	s.figure("rights: %d, used %d, by other tests %d, excused with a reason %d; requests: %d, denied 0, without a right 0",
		compared.Total, compared.Used, compared.Elsewhere, compared.Excused, len(requests))
}

// requireRights checks that the cluster has exactly the rights of the table, that they cover all requests, that no
// request was denied, and that the test uses the rights that rights.Unused names it for. It returns the rights.
func (s *suite) requireRights(t *testing.T, name string) []rights.Right {
	t.Helper()
	all, err := rights.Granted(s.Repository())
	require.NoError(t, err)
	granted := rights.On(name, all)
	if name == platform.None {
		granted = slices.DeleteFunc(granted, func(r rights.Right) bool {
			return r.Identity != ours[0] && r.Identity != prometheus
		})
	}
	for _, rule := range s.CustomRules() {
		granted = append(granted, rights.Right{Identity: ours[1], Group: rule.APIGroups[0], Resource: rule.Resources[0],
			Verbs: rule.Verbs})
	}
	s.requireGranted(t, granted)
	require.Empty(t, s.denied(t), "denied requests")
	requests := s.requests(t)
	require.Empty(t, rights.Compare(granted, requests, nil).Uncovered, "requests that no right covers")
	s.requireExercised(t, all, requests)
	return granted
}

// requireExercised checks that the test uses the rights that rights.Unused names it for.
func (s *suite) requireExercised(t *testing.T, all []rights.Right, requests []rights.Request) {
	t.Helper()
	unexercised := rights.Unexercised(
		t.Name(), rights.On("openstack", all), slices.Concat(requests, s.bindings(t)), rights.Unused,
	)
	require.Empty(t, unexercised, "rights that rights.Unused says this test uses")
}

// requireBound checks that the cluster has exactly the rights of the table, whatever it was before, and that the test
// uses those that rights.Unused names it for.
func (s *suite) requireBound(t *testing.T, name string) {
	t.Helper()
	all, err := rights.Granted(s.Repository())
	require.NoError(t, err)
	s.requireGranted(t, rights.On(name, all))
	s.requireExercised(t, all, s.requests(t))
}

func (s *suite) requireGranted(t *testing.T, granted []rights.Right) {
	t.Helper()
	missing, added := rights.Differences(granted, s.bound(t))
	require.Empty(t, missing, "rights of docs/rights.md that the cluster does not have")
	require.Empty(t, added, "rights that docs/rights.md does not have")
}

// brake is the policy that refuses deletions of Nodes until they are confirmed; each true deletion is refused first.
const brake = "ValidatingAdmissionPolicy 'openshift-cloud-controller-manager-node-deletion'"

// stale is the answer to a cloud-controller-manager that writes all taints of a Node as it last saw them, while the Node
// has others: the patch would undo that. That of Alibaba Cloud writes them all (PatchAll in node_controller.go), and tries
// again.
const stale = "the cloud-controller-manager may change no taint but remove "

// denied returns every denied request of our users, without duplicates.
func (s *suite) denied(t *testing.T) []string {
	t.Helper()
	var denied []string
	s.eachRequest(t, accounts, func(e *auditEvent) {
		forbidden := e.ResponseStatus.Code == http.StatusForbidden ||
			e.Annotations["authorization.k8s.io/decision"] == "forbid"
		expected := strings.Contains(e.ResponseStatus.Message, brake) ||
			s.Platform() == configv1.AlibabaCloudPlatformType && strings.Contains(e.ResponseStatus.Message, stale)
		if strings.HasPrefix(e.User.Username, accounts) && forbidden && !expected && !e.initializes() {
			denied = append(denied, fmt.Sprintf("%s: %s %s: %s", e.User.Username, e.Verb, e.RequestURI,
				e.ResponseStatus.Message))
		}
	})
	slices.Sort(denied)
	return slices.Compact(denied)
}

// requests returns every request of our users, except for those that every user may make, such as for /healthz.
func (s *suite) requests(t *testing.T) []rights.Request {
	t.Helper()
	seen := map[string]bool{}
	var requests []rights.Request
	s.eachRequest(t, accounts, func(e *auditEvent) {
		if !strings.HasPrefix(e.User.Username, accounts) || seen[e.AuditID] {
			return
		}
		seen[e.AuditID] = true // A watch has an event for its start and one for its end.
		if e.initializes() {
			return
		}
		if e.ObjectRef.Resource == "" && everybody.MatchString(e.Annotations["authorization.k8s.io/reason"]) {
			return
		}
		requests = append(requests, e.request())
	})
	return requests
}

// bindings returns a request to bind for each binding that our users wrote: the API server checks this right without
// a separate request.
func (s *suite) bindings(t *testing.T) []rights.Request {
	t.Helper()
	roles := map[string]string{}
	s.eachBinding(t, func(namespace, name string, role rbacv1.RoleRef, _ []rbacv1.Subject) {
		roles[namespace+"/"+name] = role.Name
	})
	var requests []rights.Request
	s.eachRequest(t, accounts, func(e *auditEvent) {
		role := roles[e.ObjectRef.Namespace+"/"+e.ObjectRef.Name]
		binds := strings.HasSuffix(e.ObjectRef.Resource, "rolebindings") && (e.Verb == "create" || e.Verb == "update")
		if strings.HasPrefix(e.User.Username, accounts) && binds && role != "" &&
			e.ResponseStatus.Code < http.StatusMultipleChoices {
			requests = append(requests, rights.Request{
				Identity: e.User.Username, Verb: "bind", Group: rbacv1.GroupName, Resource: "clusterroles",
				Namespace: e.ObjectRef.Namespace, Name: role,
			})
		}
	})
	return requests
}

// bound returns the rights of our namespaces' ServiceAccounts, and of cluster monitoring. It omits Kubernetes' defaults
// for every ServiceAccount or user.
func (s *suite) bound(t *testing.T) []rights.Right {
	t.Helper()
	var bound []rights.Right
	s.eachBinding(t, func(namespace, name string, reference rbacv1.RoleRef, subjects []rbacv1.Subject) {
		for _, subject := range subjects {
			identity := subject.Name // of a user or a group
			if subject.Kind == rbacv1.ServiceAccountKind {
				identity = "system:serviceaccount:" + subject.Namespace + ":" + subject.Name
			}
			everybody := identity == "system:serviceaccounts" || identity == "system:authenticated"
			if !everybody && identity != prometheus && !strings.Contains(identity, targetNamespace) {
				continue
			}
			for _, rule := range s.rules(t, namespace, reference) {
				require.Empty(t, rule.NonResourceURLs, "%s: the table of rights has resources only", name)
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						bound = append(bound, rights.Right{
							Identity: identity, Namespace: namespace, Group: group, Resource: resource,
							Names: rule.ResourceNames, Verbs: rule.Verbs,
						})
					}
				}
			}
		}
	})
	return bound
}

// eachBinding calls do for each binding, except for Kubernetes' own bindings of groups and users.
func (s *suite) eachBinding(
	t *testing.T, do func(namespace, name string, role rbacv1.RoleRef, subjects []rbacv1.Subject),
) {
	t.Helper()
	everywhere, err := s.kube.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, b := range everywhere.Items {
		if b.Labels["kubernetes.io/bootstrapping"] != "rbac-defaults" {
			do("", b.Name, b.RoleRef, b.Subjects)
		}
	}
	inNamespaces, err := s.kube.RbacV1().RoleBindings("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, b := range inNamespaces.Items {
		if b.Labels["kubernetes.io/bootstrapping"] != "rbac-defaults" {
			do(b.Namespace, b.Name, b.RoleRef, b.Subjects)
		}
	}
}

func (s *suite) rules(t *testing.T, namespace string, reference rbacv1.RoleRef) []rbacv1.PolicyRule {
	t.Helper()
	if reference.Kind == "ClusterRole" {
		role, err := s.kube.RbacV1().ClusterRoles().Get(t.Context(), reference.Name, metav1.GetOptions{})
		require.NoError(t, err)
		return role.Rules
	}
	role, err := s.kube.RbacV1().Roles(namespace).Get(t.Context(), reference.Name, metav1.GetOptions{})
	require.NoError(t, err)
	return role.Rules
}

// auditEvent has the fields of the audit log that the tests read.
type auditEvent struct {
	AuditID        string
	StageTimestamp time.Time
	Verb           string
	RequestURI     string
	UserAgent      string
	SourceIPs      []string
	User           struct{ Username string }
	ObjectRef      struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus struct {
		Code    int
		Message string
	}
	Annotations map[string]string
}

// initializes reports whether a preflight tries to initialize a Node that joins meanwhile, or to label one, as Nutanix'
// provider does whenever it looks it up, after it has read it. The leader does that: what a preflight may not write, it
// is to be refused.
func (e *auditEvent) initializes() bool {
	return e.User.Username == preflightUser && e.ObjectRef.Resource == "nodes" &&
		(e.Verb == "update" || e.Verb == "patch" || e.Verb == "get" && e.ResponseStatus.Code == http.StatusForbidden)
}

// request returns the event as a Request.
func (e *auditEvent) request() rights.Request {
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	if resource == "" {
		resource = e.RequestURI
	}
	return rights.Request{
		Identity: e.User.Username, Verb: e.Verb, Group: e.ObjectRef.APIGroup, Resource: resource,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
	}
}

// eachRequest calls do for each line of the audit log that contains the text. It ignores an incomplete last line.
func (s *suite) eachRequest(t *testing.T, text string, do func(*auditEvent)) {
	t.Helper()
	content, err := os.ReadFile(s.AuditLog())
	require.NoError(t, err)
	content = content[:bytes.LastIndexByte(content, '\n')+1]
	scanner := bufio.NewScanner(bytes.NewReader(content))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if !bytes.Contains(scanner.Bytes(), []byte(text)) {
			continue
		}
		var e auditEvent
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &e), scanner.Text())
		do(&e)
	}
	require.NoError(t, scanner.Err())
}
