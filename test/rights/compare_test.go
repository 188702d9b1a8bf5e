package rights_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/rights"
)

const account = "system:serviceaccount:ns:a"

// granted are three verbs of two rights.
func granted() []rights.Right {
	return []rights.Right{
		{
			Identity: account, Namespace: "ns", Group: "g", Resource: "things/status", Names: []string{"x"},
			Verbs: []string{"get", "update"}, Role: "Role/r",
		},
		{Identity: account, Resource: "nodes", Verbs: []string{"list"}, Role: "ClusterRole/c"},
	}
}

// everything uses each of them, and one more than once.
func everything() []rights.Request {
	return []rights.Request{
		{account, "get", "g", "things/status", "ns", "x"},
		{account, "get", "g", "things/status", "ns", "x"},
		{account, "update", "g", "things/status", "ns", "x"},
		{account, "list", "", "nodes", "", ""},
	}
}

func exception(verbs ...string) rights.Exception {
	return rights.Exception{
		Account: "a", Namespace: "ns", Resources: []string{"things/status.g"}, Verbs: verbs, Reason: "a test",
	}
}

func by(test string, e rights.Exception) rights.Exception {
	e.By = test
	return e
}

func TestATestUsesTheRightsThatAnExceptionNamesItFor(t *testing.T) {
	exceptions := []rights.Exception{by("TestOther/case", exception("get", "update")), exception("delete")}
	noUpdate := slices.Delete(everything(), 2, 3)
	for name, tc := range map[string]struct {
		test     string
		requests []rights.Request
		want     []string
	}{
		"it uses all": {test: "TestOther/case", requests: everything()},
		"it uses some": {
			test: "TestOther/case", requests: noUpdate, want: []string{"a may update things/status.g in ns"},
		},
		"a step of it uses some": {
			test: "TestOther/case/step", requests: noUpdate, want: []string{"a may update things/status.g in ns"},
		},
		"a similar name":     {test: "TestOther/case_two"},
		"the test around it": {test: "TestOther"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, rights.Unexercised(tc.test, granted(), tc.requests, exceptions))
		})
	}
}

func TestRightsAndRequestsAreComparedInBothDirections(t *testing.T) {
	sometimes := exception("update")
	sometimes.Sometimes = true
	noReason := exception("update")
	noReason.Reason = ""
	elsewhere := exception("update")
	elsewhere.Namespace = "other"
	named, otherwise := exception("update"), exception("update")
	named.Names, otherwise.Names = []string{"x"}, []string{"y"}
	noUpdate := slices.Delete(everything(), 2, 3)
	for name, tc := range map[string]struct {
		requests   []rights.Request
		exceptions []rights.Exception
		want       rights.Comparison
	}{
		"every right is used and every request is covered": {
			requests: everything(),
			want:     rights.Comparison{Requests: 4, Total: 3, Used: 3},
		},
		"an exception for the names of the right": {
			requests: noUpdate, exceptions: []rights.Exception{named},
			want: rights.Comparison{Requests: 3, Total: 3, Used: 2, Excused: 1},
		},
		"an exception for other names": {
			requests: everything(), exceptions: []rights.Exception{otherwise},
			want: rights.Comparison{Requests: 4, Total: 3, Used: 3, Outdated: []string{
				`a may update things/status.g y in ns: there is no such right`,
			}},
		},
		"a request that no right covers": {
			requests: append(everything(),
				rights.Request{account, "delete", "g", "things/status", "ns", "x"},
				rights.Request{account, "delete", "g", "things/status", "ns", "x"},
				rights.Request{"system:serviceaccount:ns:b", "list", "", "nodes", "", ""}),
			want: rights.Comparison{Requests: 7, Total: 3, Used: 3, Uncovered: []string{
				"system:serviceaccount:ns:a asked to delete things/status.g x in ns",
				"system:serviceaccount:ns:b asked to list nodes",
			}},
		},
		"a right that nothing used": {
			requests: noUpdate,
			want: rights.Comparison{Requests: 3, Total: 3, Used: 2, Unused: []string{
				"system:serviceaccount:ns:a may update things/status.g x in ns by Role/r",
			}},
		},
		"a right that nothing used, excused": {
			requests:   noUpdate,
			exceptions: []rights.Exception{exception("update")},
			want:       rights.Comparison{Requests: 3, Total: 3, Used: 2, Excused: 1},
		},
		"a right that another test uses": {
			requests:   noUpdate,
			exceptions: []rights.Exception{by("TestOther", exception("update"))},
			want:       rights.Comparison{Requests: 3, Total: 3, Used: 2, Elsewhere: 1},
		},
		"a right that nothing used, excused in another namespace": {
			requests:   noUpdate,
			exceptions: []rights.Exception{elsewhere},
			want: rights.Comparison{
				Requests: 3, Total: 3, Used: 2,
				Unused:   []string{"system:serviceaccount:ns:a may update things/status.g x in ns by Role/r"},
				Outdated: []string{"a may update things/status.g in other: there is no such right"},
			},
		},
		"an exception for what was used": {
			requests:   noUpdate,
			exceptions: []rights.Exception{exception("update", "get")},
			want: rights.Comparison{
				Requests: 3, Total: 3, Used: 2, Excused: 1,
				Outdated: []string{"a may get things/status.g in ns: the run used it"},
			},
		},
		"an exception for what is used sometimes, and was": {
			requests: everything(), exceptions: []rights.Exception{sometimes},
			want: rights.Comparison{Requests: 4, Total: 3, Used: 3},
		},
		"an exception for what is used sometimes, and was not": {
			requests: noUpdate, exceptions: []rights.Exception{sometimes},
			want: rights.Comparison{Requests: 3, Total: 3, Used: 2, Excused: 1},
		},
		"an exception for no right": {
			requests: everything(), exceptions: []rights.Exception{exception("delete")},
			want: rights.Comparison{
				Requests: 4, Total: 3, Used: 3,
				Outdated: []string{"a may delete things/status.g in ns: there is no such right"},
			},
		},
		"an exception without a reason": {
			requests: noUpdate, exceptions: []rights.Exception{noReason},
			want: rights.Comparison{
				Requests: 3, Total: 3, Used: 2, Excused: 1,
				Outdated: []string{"a may update things/status.g in ns: the exception has no reason"},
			},
		},
		"nothing at all": {
			want: rights.Comparison{Total: 3, Unused: []string{
				"system:serviceaccount:ns:a may get things/status.g x in ns by Role/r",
				"system:serviceaccount:ns:a may update things/status.g x in ns by Role/r",
				"system:serviceaccount:ns:a may list nodes by ClusterRole/c",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, rights.Compare(granted(), tc.requests, tc.exceptions))
		})
	}
}

func TestSetsOfRightsDifferByVerbAndName(t *testing.T) {
	one := rights.Right{Identity: account, Resource: "pods", Names: []string{"x", "y"}, Verbs: []string{"get", "list"}}
	for name, tc := range map[string]struct {
		other        []rights.Right
		onlyA, onlyB []string
	}{
		"the same": {other: []rights.Right{one}},
		"the same, split over rules": {other: []rights.Right{
			{Identity: account, Resource: "pods", Names: []string{"y", "x"}, Verbs: []string{"list"}},
			{Identity: account, Resource: "pods", Names: []string{"x"}, Verbs: []string{"get"}},
			{Identity: account, Resource: "pods", Names: []string{"y"}, Verbs: []string{"get"}},
		}},
		"a name less": {
			other: []rights.Right{{Identity: account, Resource: "pods", Names: []string{"x"}, Verbs: []string{"get", "list"}}},
			onlyA: []string{account + " may get pods y", account + " may list pods y"},
		},
		"all names": {
			other: []rights.Right{one, {Identity: account, Resource: "pods", Verbs: []string{"get"}}},
			onlyB: []string{account + " may get pods"},
		},
		"another namespace and group": {
			other: []rights.Right{
				one, {Identity: account, Namespace: "ns", Group: "g", Resource: "pods", Verbs: []string{"get"}},
			},
			onlyB: []string{account + " may get pods.g in ns"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			onlyA, onlyB := rights.Differences([]rights.Right{one}, tc.other)
			require.Equal(t, tc.onlyA, onlyA)
			require.Equal(t, tc.onlyB, onlyB)
		})
	}
}

func TestAPlatformHasItsOwnRightsAndThoseOfAll(t *testing.T) {
	all := rights.Right{Identity: account, Resource: "nodes"}
	azure := rights.Right{Identity: account, Resource: "pods", Platforms: []string{"azure", "azurestack"}}
	openstack := rights.Right{Identity: account, Resource: "services", Platforms: []string{"openstack"}}
	require.Equal(t, []rights.Right{all, openstack}, rights.On("openstack", []rights.Right{all, azure, openstack}))
	require.Equal(t, []rights.Right{all, azure}, rights.On("azurestack", []rights.Right{all, azure, openstack}))
}
