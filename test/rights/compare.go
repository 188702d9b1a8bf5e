package rights

import (
	"maps"
	"slices"
	"strings"
)

// Exception excuses verbs of a right that a run does not use.
type Exception struct {
	// Account is the name of the ServiceAccount.
	Account string
	// Namespace is that of the right; empty is everywhere.
	Namespace string
	// Resources are those of rights with their API group, such as leases.coordination.k8s.io.
	Resources []string
	Verbs     []string
	Reason    string
	// Sometimes excuses verbs that the run may use or not, such as those for a retry.
	Sometimes bool
}

func (e Exception) excuses(r Right, verb string) bool {
	account := r.Identity[strings.LastIndex(r.Identity, ":")+1:]
	return e.Account == account && e.Namespace == r.Namespace &&
		slices.Contains(e.Resources, r.kind()) && slices.Contains(e.Verbs, verb)
}

func (e Exception) describe(verb, resource string) string {
	return sentence(e.Account+" may "+verb, resource, nil, e.Namespace)
}

// Comparison is what a run made of its rights.
type Comparison struct {
	// Requests counts the requests, Total the verbs of all rights: of these, Used were used and Excused were not.
	Requests, Total, Used, Excused int
	// Uncovered are the requests that no right covers.
	Uncovered []string
	// Unused are the verbs of rights that were neither used nor excused.
	Unused []string
	// Outdated are the exceptions for what was used after all, for what is no right, and those without a reason.
	Outdated []string
}

// Compare compares rights with requests in both directions.
func Compare(granted []Right, requests []Request, exceptions []Exception) Comparison {
	c := Comparison{Requests: len(requests)}
	used := map[int]map[string]bool{}
	uncovered := map[string]bool{}
	// Thousands of requests are alike.
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

// count judges each verb of each right, and then the exceptions.
func (c *Comparison) count(granted []Right, used map[int]map[string]bool, exceptions []Exception) {
	known, needless := map[string]bool{}, map[string]bool{}
	for i, r := range granted {
		for _, verb := range r.Verbs {
			excused := false
			for _, e := range exceptions {
				if e.excuses(r, verb) {
					right := e.describe(verb, r.kind())
					excused, known[right] = true, true
					needless[right] = needless[right] || used[i][verb] && !e.Sometimes
				}
			}
			c.countVerb(r, verb, used[i][verb], excused)
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

func (c *Comparison) countVerb(r Right, verb string, used, excused bool) {
	c.Total++
	switch {
	case used:
		c.Used++
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

// String names the request in one line.
func (q Request) String() string {
	var names []string
	if q.Name != "" {
		names = []string{q.Name}
	}
	kind := Right{Group: q.Group, Resource: q.Resource}.kind()
	return sentence(q.Identity+" asked to "+q.Verb, kind, names, q.Namespace)
}

// On returns the rights that are bound on a platform, which is one with a cloud-controller-manager.
func On(platform string, granted []Right) []Right {
	return slices.DeleteFunc(slices.Clone(granted), func(r Right) bool {
		return len(r.Platforms) > 0 && !slices.Contains(r.Platforms, platform)
	})
}

// Differences returns what only the first, and what only the second of two sets of rights allows, each verb and name on its
// own: by which roles and rules it is allowed makes no difference.
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

// sentence starts with who does what.
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
