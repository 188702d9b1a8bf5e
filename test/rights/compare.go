package rights

import (
	"maps"
	"slices"
	"strings"
)

// Exception excuses a right's verbs that a run does not use.
type Exception struct {
	// Account is the ServiceAccount's name.
	Account string
	// Namespace is the right's namespace, empty for all.
	Namespace string
	// Resources are the rights' resources with their API group, such as leases.coordination.k8s.io.
	Resources []string
	// Names are those of the right. The exception is for rights with any names if it has none.
	Names  []string
	Verbs  []string
	Reason string
	// Sometimes excuses verbs that a run may or may not use, for example for a retry.
	Sometimes bool
	// By is the test that uses the verbs in place of the run, as Unexercised proves; empty if none does.
	By string
}

func (e Exception) excuses(r Right, verb string) bool {
	account := r.Identity[strings.LastIndex(r.Identity, ":")+1:]
	return e.Account == account && e.Namespace == r.Namespace && (len(e.Names) == 0 || slices.Equal(e.Names, r.Names)) &&
		slices.Contains(e.Resources, r.kind()) && slices.Contains(e.Verbs, verb)
}

func (e Exception) describe(verb, resource string) string {
	return sentence(e.Account+" may "+verb, resource, e.Names, e.Namespace)
}

// Comparison is the result of comparing a run's requests with its rights.
type Comparison struct {
	// Requests is the number of requests, Total the number of verbs of all rights. Of these, Used were used, another
	// test uses Elsewhere, and Excused are those that none uses.
	Requests, Total, Used, Elsewhere, Excused int
	// Uncovered are requests without a right.
	Uncovered []string
	// Unused are verbs of rights that are neither used nor excused.
	Unused []string
	// Outdated are exceptions for used verbs, for missing rights, and without a reason.
	Outdated []string
}

// Compare compares rights with requests in both directions.
func Compare(granted []Right, requests []Request, exceptions []Exception) Comparison {
	c := Comparison{Requests: len(requests)}
	used := map[int]map[string]bool{}
	uncovered := map[string]bool{}
	// Thousands of requests are equal.
	distinct := map[Request]bool{}
	for _, q := range requests {
		distinct[q] = true
	}
	for q := range distinct {
		covered := false
		for i, r := range granted {
			if !r.Covers(q) {
				continue
			}
			covered = true
			if used[i] == nil {
				used[i] = map[string]bool{}
			}
			used[i][q.Verb] = true
		}
		if !covered {
			uncovered[q.String()] = true
		}
	}
	c.Uncovered = slices.Sorted(maps.Keys(uncovered))
	c.count(granted, used, exceptions)
	return c
}

// count checks each verb of each right, and then the exceptions.
func (c *Comparison) count(granted []Right, used map[int]map[string]bool, exceptions []Exception) {
	known, needless := map[string]bool{}, map[string]bool{}
	for i, r := range granted {
		for _, verb := range r.Verbs {
			excused, elsewhere := false, false
			for _, e := range exceptions {
				if e.excuses(r, verb) {
					right := e.describe(verb, r.kind())
					excused, elsewhere, known[right] = true, elsewhere || e.By != "", true
					needless[right] = needless[right] || used[i][verb] && !e.Sometimes
				}
			}
			c.countVerb(r, verb, used[i][verb], elsewhere, excused)
		}
	}
	for _, e := range exceptions {
		for _, resource := range e.Resources {
			for _, verb := range e.Verbs {
				right := e.describe(verb, resource)
				c.judge(e, right, known[right], needless[right])
			}
		}
	}
}

func (c *Comparison) countVerb(r Right, verb string, used, elsewhere, excused bool) {
	c.Total++
	switch {
	case used:
		c.Used++
	case elsewhere:
		c.Elsewhere++
	case excused:
		c.Excused++
	default:
		r.Verbs = []string{verb}
		c.Unused = append(c.Unused, r.String())
	}
}

func (c *Comparison) judge(e Exception, right string, known, needless bool) {
	switch {
	case !known:
		c.Outdated = append(c.Outdated, right+": there is no such right")
	case needless:
		c.Outdated = append(c.Outdated, right+": the run used it")
	case e.Reason == "":
		c.Outdated = append(c.Outdated, right+": the exception has no reason")
	}
}

// Unexercised returns the verbs of rights that a test is said to use and did not. A test is said to use what exceptions
// name it or a test around it for.
func Unexercised(test string, granted []Right, requests []Request, exceptions []Exception) []string {
	var missing []string
	for _, e := range exceptions {
		if e.By == "" || !strings.HasPrefix(test+"/", e.By+"/") {
			continue
		}
		for _, r := range granted {
			for _, verb := range r.Verbs {
				used := func(q Request) bool { return q.Verb == verb && r.Covers(q) }
				if e.excuses(r, verb) && !slices.ContainsFunc(requests, used) {
					missing = append(missing, e.describe(verb, r.kind()))
				}
			}
		}
	}
	return missing
}

// String names the request in one line.
func (q Request) String() string {
	var names []string
	if q.Name != "" {
		names = []string{q.Name}
	}
	kind := Right{Group: q.Group, Resource: q.Resource}.kind()
	return sentence(q.Identity+" asked to "+q.Verb, kind, names, q.Namespace)
}

// On returns the rights that are bound on a managed platform.
func On(platform string, granted []Right) []Right {
	return slices.DeleteFunc(slices.Clone(granted), func(r Right) bool {
		return len(r.Platforms) > 0 && !slices.Contains(r.Platforms, platform)
	})
}

// Differences returns what only the first and what only the second set of rights allows, for each verb and name
// separately. Roles and rules make no difference.
func Differences(a, b []Right) (onlyA, onlyB []string) {
	inA, inB := single(a), single(b)
	for _, line := range slices.Sorted(maps.Keys(inA)) {
		if !inB[line] {
			onlyA = append(onlyA, line)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(inB)) {
		if !inA[line] {
			onlyB = append(onlyB, line)
		}
	}
	return onlyA, onlyB
}

func single(rights []Right) map[string]bool {
	lines := map[string]bool{}
	for _, r := range rights {
		for _, verb := range r.Verbs {
			if len(r.Names) == 0 {
				lines[sentence(r.Identity+" may "+verb, r.kind(), nil, r.Namespace)] = true
			}
			for _, name := range r.Names {
				lines[sentence(r.Identity+" may "+verb, r.kind(), []string{name}, r.Namespace)] = true
			}
		}
	}
	return lines
}

// kind is the resource with its API group.
func (r Right) kind() string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

// sentence starts with the account and its verbs.
func sentence(start, resource string, names []string, namespace string) string {
	line := start + " " + resource
	if len(names) > 0 {
		line += " " + strings.Join(names, ",")
	}
	if namespace != "" {
		line += " in " + namespace
	}
	return line
}
