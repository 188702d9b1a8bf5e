package architecture

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// parityRow is a row of a table of docs/parity.md. These tests check our column; the predecessor's cannot be checked.
type parityRow struct {
	line                           string
	where, what, theirs, ours, why string
}

// absent is the cell of a side without the item.
const absent = "–"

// parityTable returns the rows of the table under a heading of docs/parity.md.
func parityTable(t *testing.T, heading string) []parityRow {
	t.Helper()
	return parityRows(t, string(read(t, "docs/parity.md")), "\n## "+heading+"\n")
}

// parityRows returns the rows of the table after a heading, up to the next second-level heading.
func parityRows(t *testing.T, text, heading string) []parityRow {
	t.Helper()
	_, section, found := strings.Cut(text, heading)
	require.True(t, found, "docs/parity.md has no section %q", heading)
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []parityRow
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| platform |") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		require.Len(t, cells, 5, line)
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		row := parityRow{line: line, where: cells[0], what: cells[1], theirs: cells[2], ours: cells[3], why: cells[4]}
		require.True(t, row.theirs != "" && row.ours != "", "%s: write %s for a side that does not have it", line, absent)
		require.True(t, row.theirs == row.ours || row.why != "", "%s: say why the two differ", line)
		rows = append(rows, row)
	}
	require.NotEmpty(t, rows, heading)
	return rows
}

// alternatives expands "a.{b,c}" to "a.b" and "a.c".
func alternatives(pattern string) []string {
	prefix, rest, found := strings.Cut(pattern, "{")
	if !found {
		return []string{pattern}
	}
	list, suffix, _ := strings.Cut(rest, "}")
	var all []string
	for alternative := range strings.SplitSeq(list, ",") {
		all = append(all, prefix+alternative+suffix)
	}
	return all
}

// compareParity requires that the rows that claim so, and no others, are ours. The key of both is "<where> <what>".
func compareParity(t *testing.T, rows []parityRow, actual map[string]bool) {
	t.Helper()
	listed := map[string]bool{}
	for _, row := range rows {
		for _, what := range alternatives(row.what) {
			key := row.where + " " + what
			require.NotContains(t, listed, key, "docs/parity.md has two rows for %s", key)
			listed[key] = row.ours != absent
		}
	}
	for _, key := range slices.Sorted(maps.Keys(actual)) {
		require.True(t, listed[key], "docs/parity.md has no row that says that %s is ours: add one, with what the predecessor has", key)
	}
	for _, key := range slices.Sorted(maps.Keys(listed)) {
		require.True(t, !listed[key] || actual[key], "docs/parity.md says that %s is ours, and it is not: write %s and why", key, absent)
	}
}

// permissions returns the entries of a CredentialsRequest's providerSpec of any cloud.
type permissions struct {
	Permissions      []string `json:"permissions"`
	StatementEntries []struct {
		Action []string `json:"action"`
	} `json:"statementEntries"`
	Policies []struct {
		Attributes []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"attributes"`
		Roles []string `json:"roles"`
	} `json:"policies"`
}

func (p permissions) names() []string {
	names := slices.Clone(p.Permissions)
	for _, entry := range p.StatementEntries {
		names = append(names, entry.Action...)
	}
	for _, policy := range p.Policies {
		var on []string
		for _, attribute := range policy.Attributes {
			on = append(on, attribute.Name+"="+attribute.Value)
		}
		for _, role := range policy.Roles {
			names = append(names, strings.Join(on, " ")+" "+strings.TrimPrefix(role, "crn:v1:bluemix:public:iam::::"))
		}
	}
	return names
}

func TestThePermissionsAreThoseOfTheParityTable(t *testing.T) {
	actual := map[string]bool{}
	for _, m := range payload(t) {
		request, ok := m.object.(*credentialsRequest)
		if !ok {
			continue
		}
		_, file, _ := strings.Cut(m.file, "_08_")
		var spec permissions
		require.NoError(t, yaml.Unmarshal(request.Spec.ProviderSpec.Raw, &spec))
		for _, name := range spec.names() {
			actual[strings.TrimSuffix(file, ".credentialsrequest.yaml")+" "+name] = true
		}
	}
	compareParity(t, parityTable(t, "Permissions"), actual)
}

// A cell without a source cannot be verified.
func TestTheParityTableSaysWhichFilesOfThePredecessorWereRead(t *testing.T) {
	_, section, _ := strings.Cut(string(read(t, "docs/parity.md")), "\n## Where the predecessor's column comes from\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, p := range platform.All() {
		if p.Image != "" {
			require.Contains(t, section, "\n| "+p.Name+" | ")
		}
	}
}

func TestTheFlagsAreThoseOfTheParityTable(t *testing.T) {
	text, _, _ := strings.Cut(string(read(t, "docs/parity.md")), "\n### Flags of the cloud-node-manager\n")
	rows := parityRows(t, text, "\n## Flags\n")
	for _, p := range platform.All() {
		if p.Image != "" { // without one, no release has run it
			compareFlags(t, rows, p.Name, flagsOfGolden(t, p.Name, "Pod", operand.Name))
		}
	}
}

func TestTheNodeManagersFlagsAreThoseOfTheParityTable(t *testing.T) {
	rows := parityRows(t, string(read(t, "docs/parity.md")), "\n### Flags of the cloud-node-manager\n")
	for _, p := range platform.All() {
		if p.NodeManagerImage != "" {
			compareFlags(t, rows, p.Name, flagsOfGolden(t, p.Name, "DaemonSet", "cloud-node-manager"))
		}
	}
}

// compareFlags requires that the platform has exactly the flags of the rows. Rows of "every" apply unless the
// platform has its own row.
func compareFlags(t *testing.T, rows []parityRow, name string, actual map[string]string) {
	t.Helper()
	want := map[string]string{}
	for _, scope := range []string{"every", name} {
		for _, row := range rows {
			if slices.Contains(strings.Split(row.where, ", "), scope) {
				want[row.what] = row.ours
			}
		}
	}
	maps.DeleteFunc(want, func(_, value string) bool { return value == absent })
	for flag, value := range actual {
		require.Contains(t, want, flag, "docs/parity.md has no row for --%s of %s: add one, with what the predecessor passes", flag, name)
		suffix, short := strings.CutPrefix(want[flag], "…")
		require.True(t, want[flag] == value || short && strings.HasSuffix(value, suffix),
			"docs/parity.md says that --%s of %s is %q, and it is %q", flag, name, want[flag], value)
	}
	for flag := range want {
		require.Contains(t, actual, flag, "docs/parity.md says that %s has --%s, and it has not: write %s and why", name, flag, absent)
	}
}

// flagsOfGolden returns a container's flags in the platform's golden file of pkg/operand.
func flagsOfGolden(t *testing.T, name, kind, container string) map[string]string {
	t.Helper()
	flags := map[string]string{}
	for document := range strings.SplitSeq(string(read(t, "pkg/operand/testdata/"+name+"/operator.golden.yaml")), "\n---\n") {
		if !strings.Contains(document, "\nkind: "+kind+"\n") {
			continue
		}
		var pod corev1.Pod
		var daemonSet appsv1.DaemonSet
		if kind == "Pod" {
			require.NoError(t, yaml.Unmarshal([]byte(document), &pod))
		} else {
			require.NoError(t, yaml.Unmarshal([]byte(document), &daemonSet))
		}
		for _, c := range slices.Concat(pod.Spec.Containers, daemonSet.Spec.Template.Spec.Containers) {
			if c.Name != container {
				continue
			}
			for _, arg := range c.Args {
				flag, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
				flags[flag] = value
			}
		}
	}
	require.NotEmpty(t, flags, name)
	return flags
}

func TestTheResourcesAreThoseOfTheParityTable(t *testing.T) {
	actual := map[string]bool{}
	add := func(where string, m manifest) {
		actual[fmt.Sprintf("%s %s/%s", where, m.object.GetObjectKind().GroupVersionKind().Kind, m.meta(t).GetName())] = true
	}
	for _, m := range payload(t) {
		add("payload", m)
	}
	for _, m := range objectsIn(t, "bindata") {
		where := "every"
		if folder, ok := strings.CutPrefix(m.file, "bindata/assets/platforms/"); ok {
			where, _, _ = strings.Cut(folder, "/")
		} else if strings.HasPrefix(m.file, "bindata/assets/node-manager/") {
			where = "with a node manager"
		}
		if m.object.GetObjectKind().GroupVersionKind().Kind != "Pod" {
			add(where, m)
		}
	}
	compareParity(t, parityTable(t, "Resources"), actual)
}

// One of several load balancers may have a serviceNamespaceSelector. The provider then only reads each Service's
// namespace (pkg/provider/azure_loadbalancer.go of sigs.k8s.io/cloud-provider-azure).
func TestAzuresProviderMayReadANamespace(t *testing.T) {
	for _, r := range roles(t) {
		if r.role != "system:openshift:cloud-controller-manager:azure" {
			continue
		}
		require.True(t, allows(r.rules, "get", "namespaces", "any"), "a Service of such a load balancer is never placed")
		require.False(t, allows(r.rules, "list", "namespaces", ""))
		return
	}
	t.Fatal("there is no role of Azure's provider")
}

// A permission without a caller is more than least privilege, a caller without its permission an outage.
func TestEveryPermissionOnGoogleCloudHasACaller(t *testing.T) {
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(compute\\.\\S+)` \\| `.+` \\| .+ \\| .+ \\|$").
		FindAllStringSubmatch(string(read(t, "docs/gcp-permissions.md")), -1) {
		documented = append(documented, row[1])
	}
	for _, m := range payload(t) {
		request, ok := m.object.(*credentialsRequest)
		if !ok || !strings.Contains(m.file, "_08_gcp") {
			continue
		}
		var spec permissions
		require.NoError(t, yaml.Unmarshal(request.Spec.ProviderSpec.Raw, &spec))
		require.Equal(t, spec.Permissions, documented)
		return
	}
	require.Fail(t, "there is no CredentialsRequest for Google Cloud")
}
