#!/usr/bin/env bash
# Prints the commands that delete what a release's payload has and a former release's has not, in the order of the
# payload. The cluster-version-operator of the former release leaves such objects in a downgrade. The directories are
# those of `oc adm release extract --to`, or copies of manifests/. See docs/upgrading.md.
set -euo pipefail

if (($# != 2)); then
	echo "usage: ${0##*/} FORMER_MANIFESTS MANIFESTS" >&2
	exit 2
fi

# objects prints "kind namespace name" of each object of this operator's manifests that its payload applies.
objects() {
	local files=("$1"/*_cloud-controller-manager-operator_*.yaml)
	if [[ ! -e "${files[0]}" ]]; then
		echo "$1 has no manifests of this operator" >&2
		exit 1
	fi
	awk '
		function flush() {
			if (kind != "" && !deletes) print tolower(kind), (namespace == "" ? "-" : namespace), name
			kind = group = namespace = name = section = ""; deletes = 0
		}
		FNR == 1 || /^---/ { flush() }
		/^[a-zA-Z]+:/ { section = $1 }
		/^apiVersion: / { group = $2; sub("/?[^/]*$", "", group) }
		/^kind: / { kind = $2 (group == "" ? "" : "." group) }
		section == "metadata:" && /^  name: / { name = $2 }
		section == "metadata:" && /^  namespace: / { namespace = $2 }
		/release.openshift.io\/delete: "true"/ { deletes = 1 }
		END { flush() }
	' "${files[@]}"
}

former="$(objects "$1")"
present="$(objects "$2")"
while read -r kind namespace name; do
	if ! grep -qxF "$kind $namespace $name" <<<"$former"; then
		[[ "$namespace" == - ]] && scope="" || scope="-n $namespace "
		echo "oc delete $scope$kind $name"
	fi
done <<<"$present"
