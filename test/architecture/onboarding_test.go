package architecture

import (
	"os/exec"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

const enhancementFile = "docs/onboarding/static-pod-cloud-controller-manager.md"

// enhancementHeadings are those that the linter of openshift/enhancements requires, in the template's order.
var enhancementHeadings = []string{
	"## Summary", "## Motivation", "### User Stories", "### Goals", "### Non-Goals", "## Proposal",
	"### Workflow Description", "### API Extensions", "### Topology Considerations",
	"#### Hypershift / Hosted Control Planes", "#### Standalone Clusters", "#### Single-node Deployments or MicroShift",
	"#### OpenShift Kubernetes Engine", "### Implementation Details/Notes/Constraints", "### Risks and Mitigations",
	"### Drawbacks", "## Alternatives (Not Implemented)", "## Open Questions [optional]", "## Test Plan",
	"## Graduation Criteria", "### Dev Preview -> Tech Preview", "### Tech Preview -> GA",
	"### Removing a deprecated feature", "## Upgrade / Downgrade Strategy", "## Version Skew Strategy",
	"## Operational Aspects of API Extensions", "## Support Procedures", "## Infrastructure Needed [optional]",
}

func TestTheEnhancementHasTheHeadingsOfTheTemplate(t *testing.T) {
	var headings []string
	for line := range strings.Lines(string(read(t, enhancementFile))) {
		if strings.HasPrefix(line, "##") {
			headings = append(headings, strings.TrimSpace(line))
		}
	}
	require.Equal(t, enhancementHeadings, headings)
}

func TestTheEnhancementsReviewersAreThoseOfTheRepository(t *testing.T) {
	var defined struct {
		Aliases map[string][]string `json:"aliases"`
	}
	require.NoError(t, yaml.UnmarshalStrict(read(t, "OWNERS_ALIASES"), &defined))
	_, text, _ := strings.Cut(string(read(t, enhancementFile)), "---\n")
	header, _, _ := strings.Cut(text, "---\n")
	var metadata struct {
		Title        string   `json:"title"`
		Authors      []string `json:"authors"`
		Reviewers    []string `json:"reviewers"`
		Approvers    []string `json:"approvers"`
		APIApprovers []string `json:"api-approvers"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(header), &metadata))
	require.Equal(t, strings.TrimSuffix(path.Base(enhancementFile), ".md"), metadata.Title)
	require.NotEmpty(t, metadata.APIApprovers)
	people := slices.Concat(metadata.Authors, metadata.Reviewers, metadata.Approvers)
	named := regexp.MustCompile(`\bcccmo-\w+`).FindAllString(strings.Join(people, "\n"), -1)
	require.NotEmpty(t, named)
	for _, alias := range named {
		require.Contains(t, defined.Aliases, alias)
	}
}

func TestTheEnhancementListsEveryAPIExtension(t *testing.T) {
	_, section, _ := strings.Cut(string(read(t, enhancementFile)), "\n### API Extensions\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
		listed = append(listed, row[1])
	}
	want := ownFields("spec", ccmv1.CloudControllerManagerSpec{})
	want = append(want, ownFields("status", ccmv1.CloudControllerManagerStatus{})...)
	for _, m := range payload(t) {
		if policy, is := m.object.(*admissionv1.ValidatingAdmissionPolicy); is {
			want = append(want, policy.Name)
		}
	}
	require.ElementsMatch(t, want, listed)
	require.Contains(t, section, "`"+ccmv1.Resource.GroupResource().String()+"`")
}

// ownFields returns the fields that a type has besides the embedded ones.
func ownFields(prefix string, object any) []string {
	var names []string
	for i := range reflect.TypeOf(object).NumField() {
		field := reflect.TypeOf(object).Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !field.Anonymous {
			names = append(names, prefix+"."+name)
		}
	}
	return names
}

func TestTheEnhancementNamesConditionsThatAreDocumented(t *testing.T) {
	_, section, _ := strings.Cut(string(read(t, enhancementFile)), "\n## Support Procedures\n")
	conditions := regexp.MustCompile("`(\\w+(?:Degraded|Available|TakingOver))`").FindAllStringSubmatch(section, -1)
	require.NotEmpty(t, conditions)
	operations := string(read(t, "docs/operations.md"))
	for _, condition := range conditions {
		require.Contains(t, operations, "`"+condition[1]+"`")
	}
}

func TestTheOnboardingDocumentsNameTestsAndFilesThatExist(t *testing.T) {
	for _, file := range []string{enhancementFile, "docs/onboarding/README.md"} {
		text := string(read(t, file))
		for _, name := range regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(text, -1) {
			requireInRepository(t, "grep", "--untracked", "-q", "func "+name[1]+"(", "--", "*_test.go")
		}
		files := regexp.MustCompile("`((?:docs|hack|bootstrap|test|pkg)/[\\w./-]+)`")
		for _, name := range files.FindAllStringSubmatch(text, -1) {
			requireInRepository(t, "ls-files", "--cached", "--others", "--error-unmatch", name[1])
		}
	}
}

func requireInRepository(t *testing.T, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", arguments...)
	command.Dir = root
	require.NoErrorf(t, command.Run(), "git %s", strings.Join(arguments, " "))
}

func TestOneFeatureGateAndOneTagSelectTheOperatorEverywhere(t *testing.T) {
	script := string(read(t, "hack/onboarding.sh"))
	gate := regexp.MustCompile(`(?m)^GATE=(\w+)$`).FindStringSubmatch(script)
	tag := regexp.MustCompile(`(?m)^TAG=([\w-]+) `).FindStringSubmatch(script)
	require.Len(t, gate, 2)
	require.Len(t, tag, 2)
	// In a payload for both operators, they are arguments of hack/gated-payload.sh.
	require.Contains(t, string(read(t, "docs/upgrading.md")),
		"hack/gated-payload.sh manifests "+gate[1]+" out \\\n  "+tag[1]+"\n")
	require.Contains(t, string(read(t, enhancementFile)), "The feature gate\n"+gate[1]+" selects")
	patch := string(read(t, "docs/onboarding/installer.patch"))
	require.Contains(t, patch, "--feature-gate="+gate[1]+" ")
	require.Contains(t, patch, "$(image_for "+tag[1]+")")
}

// added returns the file that a patch adds.
func added(t *testing.T, patch, name string) string {
	t.Helper()
	_, text, found := strings.Cut(string(read(t, patch)), "\n+++ b/"+name+"\n@@ ")
	require.Truef(t, found, "%s adds no %s", patch, name)
	var content strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "diff ") {
			break
		}
		if added, is := strings.CutPrefix(line, "+"); is {
			content.WriteString(added)
		}
	}
	return content.String()
}

func TestThePatchesForOtherRepositoriesNameWhatTheImageHas(t *testing.T) {
	tag := regexp.MustCompile(`(?m)^TAG=([\w-]+) `).FindStringSubmatch(string(read(t, "hack/onboarding.sh")))[1]
	image := string(read(t, "Dockerfile.rhel"))

	origin := string(read(t, "docs/onboarding/origin.patch"))
	require.Contains(t, origin, "imageTag:   \""+tag+"\"")
	program := regexp.MustCompile(`binaryPath: "/usr/bin/(.+)"`).FindStringSubmatch(origin)[1]
	require.Contains(t, image, "/_output/"+program+" /usr/bin/\n")

	var ci struct {
		Images struct {
			Items []struct {
				Dockerfile string `json:"dockerfile_path"`
				To         string `json:"to"`
			} `json:"items"`
		} `json:"images"`
		Tests []struct {
			Commands string `json:"commands"`
		} `json:"tests"`
	}
	dir := "ci-operator/config/openshift/" + tag + "/"
	require.NoError(t, yaml.Unmarshal([]byte(added(t, "docs/onboarding/release.patch", dir+"openshift-"+tag+"-main.yaml")), &ci))
	require.Len(t, ci.Images.Items, 1)
	require.Equal(t, "Dockerfile.rhel "+tag, ci.Images.Items[0].Dockerfile+" "+ci.Images.Items[0].To)
	for _, test := range ci.Tests {
		if target, is := strings.CutPrefix(test.Commands, "make "); is {
			require.Contains(t, string(read(t, "Makefile")), "\n.PHONY: "+target+"\n")
		}
	}

	var build struct {
		Cachito struct {
			Packages struct {
				Modules []struct {
					Path string `json:"path"`
				} `json:"gomod"`
			} `json:"packages"`
		} `json:"cachito"`
		PayloadName string `json:"payload_name"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(added(t, "docs/onboarding/ocp-build-data.patch", "images/ose-"+tag+".yml")), &build))
	require.Equal(t, tag, build.PayloadName)
	require.NotEmpty(t, build.Cachito.Packages.Modules)
	for _, module := range build.Cachito.Packages.Modules {
		require.FileExists(t, path.Join(root, module.Path, "go.mod"))
	}
}
