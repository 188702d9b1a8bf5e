package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ours are the users of the operator, the operand, the installer with the pruner, and the cert-syncer.
var ours = []string{
	"system:serviceaccount:" + operatorNamespace + ":cluster-cloud-controller-manager",
	"system:serviceaccount:" + targetNamespace + ":cloud-controller-manager",
	"system:serviceaccount:" + targetNamespace + ":installer-sa",
	"system:serviceaccount:" + targetNamespace + ":cert-syncer",
}

// testRights reads the audit log of the whole run and the rules in the cluster.
func (s *suite) testRights(t *testing.T) {
	requests := map[string]int{}
	s.eachRequest(t, "system:serviceaccount:openshift-cloud-controller-manager", func(e *auditEvent) { requests[e.User.Username]++ })
	for _, user := range ours {
		require.NotZero(t, requests[user], "%s made requests", user)
		s.figure("requests of %s: %d", strings.TrimPrefix(user, "system:serviceaccount:"), requests[user])
	}
	require.Empty(t, s.denied(t))
	s.requireNarrowRoles(t)
}

// denied returns every request of ours that was denied for want of a right, once.
func (s *suite) denied(t *testing.T) []string {
	t.Helper()
	var denied []string
	s.eachRequest(t, "system:serviceaccount:openshift-cloud-controller-manager", func(e *auditEvent) {
		if slices.Contains(ours, e.User.Username) && (e.ResponseStatus.Code == http.StatusForbidden || e.Annotations["authorization.k8s.io/decision"] == "forbid") {
			denied = append(denied, fmt.Sprintf("%s: %s %s: %s", e.User.Username, e.Verb, e.RequestURI, e.ResponseStatus.Message))
		}
	})
	slices.Sort(denied)
	return slices.Compact(denied)
}

// requireNarrowRoles checks every role that a ServiceAccount of our namespaces is bound to.
func (s *suite) requireNarrowRoles(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	everywhere, err := s.kube.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	bound := 0
	for _, binding := range everywhere.Items {
		if concernsUs(binding.Subjects) {
			bound++
			s.requireNarrow(t, "", binding.RoleRef)
		}
	}
	inNamespaces, err := s.kube.RbacV1().RoleBindings("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, binding := range inNamespaces.Items {
		if concernsUs(binding.Subjects) {
			bound++
			s.requireNarrow(t, binding.Namespace, binding.RoleRef)
		}
	}
	require.GreaterOrEqual(t, bound, len(ours))
}

func concernsUs(subjects []rbacv1.Subject) bool {
	return slices.ContainsFunc(subjects, func(subject rbacv1.Subject) bool {
		return strings.Contains(subject.Namespace+subject.Name, "cloud-controller-manager")
	})
}

func (s *suite) requireNarrow(t *testing.T, namespace string, reference rbacv1.RoleRef) {
	t.Helper()
	require.NotEqual(t, "cluster-admin", reference.Name)
	var rules []rbacv1.PolicyRule
	if reference.Kind == "ClusterRole" {
		role, err := s.kube.RbacV1().ClusterRoles().Get(t.Context(), reference.Name, metav1.GetOptions{})
		require.NoError(t, err)
		rules = role.Rules
	} else {
		role, err := s.kube.RbacV1().Roles(namespace).Get(t.Context(), reference.Name, metav1.GetOptions{})
		require.NoError(t, err)
		rules = role.Rules
	}
	for _, rule := range rules {
		for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
			require.NotContains(t, list, "*", "%s %s", reference.Kind, reference.Name)
		}
	}
}

// auditEvent is what the tests read of a line of the audit log.
type auditEvent struct {
	StageTimestamp time.Time
	Verb           string
	RequestURI     string
	UserAgent      string
	SourceIPs      []string
	User           struct{ Username string }
	ObjectRef      struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus struct {
		Code    int
		Message string
	}
	Annotations map[string]string
}

// eachRequest calls do for every line of the audit log with the text in it. A last line that is being written is left out.
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
