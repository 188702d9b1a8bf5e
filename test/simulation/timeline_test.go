package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// changed is an observer of the API, which holds its lock.
func (w *world) changed(c apitest.Change) {
	w.trace.Lock()
	w.writes = append(w.writes, write{apitest.Change{User: c.User, Verb: c.Verb, Resource: c.Resource, Key: c.Key}, time.Now()})
	switch {
	case c.Resource == pods:
		if c.Before == nil && c.Key == target+"/preflight" {
			w.preflights = append(w.preflights, time.Now())
		}
		node := podNode(c)
		if w.dirty[node] == nil {
			w.dirty[node] = map[string]bool{}
		}
		w.dirty[node][c.Key] = true
	case c.Resource == leases && c.Key == leaseKey && strings.HasPrefix(c.User, ccmUser):
		w.renewed = time.Now()
	}
	if w.countdown > 0 && isOperator(c.User) {
		w.countdown--
		if w.countdown == 0 {
			close(w.reached)
		}
	}
	w.trace.Unlock()
	if strings.HasPrefix(c.User, serviceAccount) && c.Resource != secrets && tells(c.After) {
		w.violate("a secret outside of a Secret", "%s %s by %s", c.Resource.Resource, c.Key, short(c.User))
	}
	if line := w.describe(c); line != "" {
		w.note("%s", line)
	}
}

// tells reports whether a value has a password of the cloud in it.
func tells(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(v, secretWord)
	case map[string]any:
		for _, inner := range v {
			if tells(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, tells)
	}
	return false
}

func podNode(c apitest.Change) string {
	o := c.After
	if o == nil {
		o = c.Before
	}
	spec, _ := o["spec"].(map[string]any)
	node, _ := spec["nodeName"].(string)
	return node
}

// describe returns the line of the timeline for a change, "" for none.
func (w *world) describe(c apitest.Change) string {
	switch {
	case c.Resource == pods && c.Before == nil:
		return fmt.Sprintf("pod %s is created on %s", c.Key, podNode(c))
	case c.Resource == pods && c.After == nil:
		return "pod " + c.Key + " is gone"
	case c.Resource == leases && holderOf(c.Before) != holderOf(c.After):
		return fmt.Sprintf("lease %s: %q → %q by %s", c.Key, holderOf(c.Before), holderOf(c.After), short(c.User))
	case c.Resource == events && c.After != nil:
		return fmt.Sprintf("event %v: %.200v", c.After["reason"], c.After["message"])
	case c.Resource == nodes && (c.After == nil || c.Before == nil):
		return fmt.Sprintf("node %s: exists %v, by %s", c.Key, c.After != nil, short(c.User))
	case c.Resource == clusterOperators || c.Resource == operators:
		return strings.Join(changedConditions(c), "; ")
	}
	return ""
}

// short returns the name of a ServiceAccount's process.
func short(user string) string { return user[strings.LastIndex(user, ":")+1:] }

func holderOf(lease object) string {
	if lease == nil {
		return ""
	}
	spec, _ := lease["spec"].(map[string]any)
	holder, _ := spec["holderIdentity"].(string)
	return holder
}

// changedConditions describes the conditions and revisions that a write has changed.
func changedConditions(c apitest.Change) []string {
	was, is := conditionsOf(c.Before), conditionsOf(c.After)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if was[name].status != is[name].status || c.Resource == clusterOperators && was[name] != is[name] {
			lines = append(lines, fmt.Sprintf("%s=%s %s %.300s", name, is[name].status, is[name].reason, is[name].message))
		}
	}
	if c.Resource == operators && revisionsOf(c.Before) != revisionsOf(c.After) {
		lines = append(lines, "revisions "+revisionsOf(c.After))
	}
	return lines
}

type condition struct{ status, reason, message string }

func conditionsOf(o object) map[string]condition {
	all := map[string]condition{}
	for _, c := range conditionList(o) {
		text := func(field string) string { value, _ := c[field].(string); return value }
		all[text("type")] = condition{text("status"), text("reason"), text("message")}
	}
	return all
}

func conditionList(o object) []map[string]any {
	status, _ := o["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	var all []map[string]any
	for _, item := range list {
		if c, ok := item.(map[string]any); ok {
			all = append(all, c)
		}
	}
	return all
}
