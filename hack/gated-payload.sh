#!/usr/bin/env bash
# Copies the manifests of a payload and limits them to clusters with a feature gate: GATE. With -GATE, it limits them to
# clusters without the gate, for the predecessor's manifests. With TAG, the operator's image gets this tag, because two
# images of a release cannot have the same one. See docs/upgrading.md.
set -euo pipefail

if (($# < 3 || $# > 4)); then
	echo "usage: ${0##*/} MANIFESTS [-]GATE OUT [TAG]" >&2
	exit 2
fi
manifests="$1" requirement="$2" out="$3" tag="${4:-cluster-cloud-controller-manager-operator}"

if [[ ! "$requirement" =~ ^-?[A-Za-z0-9]+$ ]]; then
	echo "\"$requirement\" is not a feature gate" >&2
	exit 2
fi
mkdir -p "$out"
for file in "$manifests"/*; do
	name="$(basename "$file")"
	[[ "$name" != *.go ]] || continue
	if [[ "$name" != image-references && "$(grep -c '^kind: ' "$file")" != "$(grep -c '^  annotations:$' "$file")" ]]; then
		echo "$name: an object has no metadata.annotations with an indent of two spaces" >&2
		exit 1
	fi
	if grep -q release.openshift.io/feature-gate "$file"; then
		echo "$name: an object has a feature gate already" >&2
		exit 1
	fi
	sed -e "s|^  annotations:\$|&\n    release.openshift.io/feature-gate: \"$requirement\"|" \
		-e "s|^  - name: cluster-cloud-controller-manager-operator\$|  - name: $tag|" \
		-e "s|origin-cluster-cloud-controller-manager-operator:|origin-$tag:|" "$file" >"$out/$name"
done
