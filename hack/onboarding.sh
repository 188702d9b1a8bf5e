#!/usr/bin/env bash
# Generates the patches of docs/onboarding from pkg/apis, OWNERS, bootstrap/bootkube-step.sh and docs/runbooks. With
# --check it changes nothing and fails if they differ. It proves the patch for openshift/api on the version that go.mod
# pins: the patch applies, its packages compile, and its type yields the CRD of manifests.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

GATE=StaticPodCloudControllerManager
TAG=static-pod-cloud-controller-manager-operator # see hack/gated-payload.sh
CRD=manifests/0000_26_cloud-controller-manager-operator_01_cloudcontrollermanagers.crd.yaml
TYPES=pkg/apis/operator/v1
DOCS=docs/onboarding

out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT

# new_file prints a patch that adds a file with the content of stdin.
new_file() {
	local content
	content="$(cat)"
	printf 'diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n' "$1" "$1" "$1"
	printf '@@ -0,0 +1,%d @@\n' "$(wc -l <<<"$content")"
	sed 's/^/+/' <<<"$content"
}

# hunks prints a patch that changes a file by the hunks of stdin.
hunks() {
	printf 'diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n' "$1" "$1" "$1" "$1"
	cat
}

# api_type prints our types as a file of openshift/api, which has the markers of its own generators.
api_type() {
	cat <<-'EOF'
		package v1

		import (
			metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
		)

	EOF
	sed -e '1,/^)$/d' -e '/+kubebuilder:metadata:annotations=/d' -e 's/\boperatorv1\.//g' \
		-e '/`json:"\(spec\|status\),omitzero"`$/{s/ Cloud/ *Cloud/;s/omitzero/omitempty/}' \
		-e '/+kubebuilder:printcolumn:/s/`//g' "$TYPES/types.go" |
		sed -e '1{/^$/d}' -e "s|^// +kubebuilder:subresource:status\$|// +genclient\n\
// +genclient:nonNamespaced\n\
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object\n\
// +kubebuilder:object:root=true\n\
&\n\
// +openshift:api-approved.openshift.io=https://github.com/openshift/api/pull/TBD\n\
// +openshift:capability=CloudControllerManager\n\
// +openshift:compatibility-gen:level=1\n\
// +openshift:enable:FeatureGate=$GATE\n\
// +openshift:file-pattern=cvoRunLevel=0000_26,operatorName=cloud-controller-manager-operator,operatorOrdering=01|"
	sed 1d "$TYPES/types_custom.go"
	cat <<-'EOF'

		// CloudControllerManagerList is a list of CloudControllerManagers.
		//
		// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
		// +openshift:compatibility-gen:level=1
		type CloudControllerManagerList struct {
			metav1.TypeMeta `json:",inline"`

			// metadata is the standard list's metadata.
			metav1.ListMeta `json:"metadata"`

			// items are the CloudControllerManagers.
			Items []CloudControllerManager `json:"items"`
		}
	EOF
}

# api_gate prints the registration of the feature gate. OWNERS has the component.
api_gate() {
	local component
	component="$(sed -n 's/^component: //p' OWNERS) / $(sed -n 's/^subcomponent: //p' OWNERS)"
	cat <<-EOF

		FeatureGate$GATE = newFeatureGate("$GATE").
			reportProblemsToJiraComponent("$component").
			contactPerson("TBD").
			productScope(ocpSpecific).
			enhancementPR("https://github.com/openshift/enhancements/pull/TBD").
			enable(inClusterProfile(SelfManaged), inDevPreviewNoUpgrade()).
			mustRegister()
	EOF
}

# api_exclusion prints the rule of the linter for the fields that embed the types of all static-pod operators. The linter
# asks for a marker that controller-gen rejects there, and that would change the CRDs of the siblings in those types.
api_exclusion() {
	cat <<-'EOF'
		      - linters:
		        - kubeapilinter
		        # controller-gen accepts no MinProperties on an embedded struct, and the siblings share the embedded types.
		        path: operator/v1/types_cloudcontrollermanager.go
		        text: "minlength: field CloudControllerManager(Spec|Status).StaticPodOperator"
	EOF
}

# api_patch prints the patch for the copy of openshift/api in $out/a, and applies it to the copy in $out/b.
api_patch() {
	local dir=operator/v1 tests=operator/v1/tests/cloudcontrollermanagers.operator.openshift.io file line
	api_type | gofmt >"$out/b/$dir/types_cloudcontrollermanager.go"
	mkdir -p "$out/b/$tests"
	cp "$TYPES/testdata/$GATE.yaml" "$out/b/$tests/"
	sed -i 's/^\t\t&CloudCredential{},$/\t\t\&CloudControllerManager{},\n\t\t\&CloudControllerManagerList{},\n&/' "$out/b/$dir/register.go"
	# Before the last rule, which has three lines.
	line="$(($(grep -n '^        path: features|payload-command' "$out/b/.golangci.yaml" | cut -d: -f1) - 3))"
	sed -i "${line}r /dev/fd/3" "$out/b/.golangci.yaml" 3< <(api_exclusion)
	sed -i '$d' "$out/b/features/features.go" # the end of the list of gates
	{ sed '$d' "$out/a/features/features.go" && api_gate && echo ')'; } | gofmt |
		sed -n "/FeatureGate$GATE = /,\$p" | sed '1i\\' >>"$out/b/features/features.go"

	for file in .golangci.yaml features/features.go "$dir/register.go"; do
		(cd "$out" && git --no-pager diff --no-index --no-prefix --no-color -U1 {a,b}/"$file") | sed '/^index /d' || true
	done
	for file in "$dir/types_cloudcontrollermanager.go" "$tests/$GATE.yaml"; do
		new_file "$file" <"$out/b/$file"
	done
}

# installer_patch prints the patch for openshift/installer, which no module contains: a template with the step, and the
# lines that guard, source and call it. One line of context locates each in every version.
installer_patch() {
	local bin=data/data/bootstrap/files/usr/local/bin file=cloud-controller-manager.sh
	{
		cat <<-EOF
			#!/usr/bin/env bash
			# Sourced by bootkube.sh.

			# cloud_controller_manager_setup renders the cloud-controller-manager of the bootstrap node.
			cloud_controller_manager_setup() {
			{{- if .StaticPodCCMEnabled }}
		EOF
		{
			printf 'CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE=$(image_for %s)\n\n' "$TAG"
			sed -e '1,/^$/d' -e "s|^\(\t*\)--payload-version=.*|&\n\1--feature-gate=$GATE \\\\|" bootstrap/bootkube-step.sh
		} | sed 's/./\t&/'
		printf '{{- end }}\n\t:\n}\n'
	} | new_file "$bin/$file.template"
	# git takes a hunk without a line after it for the end of a file.
	hunks "$bin/bootkube.sh.template" <<-EOF
		@@ -10,1 +10,3 @@
		+# shellcheck source=$file.template
		+. /usr/local/bin/$file
		 # shellcheck source=bootstrap-verify-api-server-urls.sh
		@@ -500,1 +502,3 @@
		+cloud_controller_manager_setup
		+
		 if [ ! -f cco-bootstrap.done ]
	EOF
	hunks pkg/asset/ignition/bootstrap/common.go <<-EOF
		@@ -100,1 +100,2 @@
		+	StaticPodCCMEnabled   bool
		 	OSImageStream         types.OSImageStream
		@@ -420,1 +421,2 @@
		+		StaticPodCCMEnabled:   staticPodCCMEnabled(installConfig.Config),
		 		OSImageStream:         installConfig.Config.OSImageStream,
		@@ -430,1 +432,7 @@
		+// staticPodCCMEnabled reports whether the bootstrap node has the step of the cloud-controller-manager.
		+func staticPodCCMEnabled(config *types.InstallConfig) bool {
		+	none := config.Platform.BareMetal != nil || config.Platform.None != nil || config.Platform.Ovirt != nil
		+	return !none && config.Enabled(features.FeatureGate$GATE)
		+}
		+
		 // AddStorageFiles adds files to a Ignition config.
	EOF
}

# runbooks_patch prints the patch for openshift/runbooks, which has no OWNERS_ALIASES and no other document of ours.
runbooks_patch() {
	local operator=cluster-cloud-controller-manager-operator runbook
	sed -n -e 's/^  cccmo-//p' -e '/^  - /p' OWNERS_ALIASES | new_file "alerts/$operator/OWNERS"
	for runbook in docs/runbooks/*.md; do
		sed "s|^\(\[.*\]: \)\.\./|\1https://github.com/openshift/$operator/blob/main/docs/|" "$runbook" |
			new_file "alerts/$operator/${runbook##*/}"
	done
}

# prove_api_patch applies the patch to a pristine copy and compares the CRD of its type with ours.
prove_api_patch() {
	local generator api=github.com/openshift/api
	(cd "$out/a" && git apply --check "$1" && git apply "$1")
	diff -r "$out/a" "$out/b"
	cp go.mod "$out/go.mod" && cp go.sum "$out/go.sum"
	go mod edit -replace "$api=$out/a" "$out/go.mod"
	generator="$(tool controller-gen sigs.k8s.io/controller-tools/cmd/controller-gen)"
	export GOFLAGS="$GOFLAGS -mod=mod -modfile=$out/go.mod"
	"$generator" object paths="$api/operator/v1"
	go vet "$api/operator/v1"
	go test "$api/features"
	"$generator" crd:crdVersions=v1 paths="$api/operator/v1" output:crd:dir="$out/crd"
	with_node_uid "$out/crd/operator.openshift.io_cloudcontrollermanagers.yaml"
	# The generators of openshift/api write the annotations.
	diff <(sed '/^  annotations:$/,/^  name:/{/^  name:/!d}' "$CRD") \
		<(sed '/^  annotations:$/,/^  name:/{/^  name:/!d}' "$out/crd/operator.openshift.io_cloudcontrollermanagers.yaml")
}

step "generating the patches of $DOCS"
api="$(go list -mod=readonly -m -f '{{.Dir}}' github.com/openshift/api)"
mkdir "$out/a" "$out/b"
for copy in a b; do
	cp -r --no-preserve=mode "$api/." "$out/$copy"
done
api_patch >"$out/openshift-api.patch"
installer_patch >"$out/installer.patch"
runbooks_patch >"$out/runbooks.patch"
prove_api_patch "$out/openshift-api.patch"

for patch in openshift-api.patch installer.patch runbooks.patch; do
	if [[ "${1:-}" != --check ]]; then
		cp "$out/$patch" "$DOCS/$patch"
	elif ! diff -u "$DOCS/$patch" "$out/$patch"; then
		echo "$DOCS/$patch is out of date: run make update-golden" >&2
		exit 1
	fi
done
