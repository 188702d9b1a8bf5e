#!/usr/bin/env bash
# Builds a clone without network, by the lines of Dockerfile.rhel: from vendor/, and from the modules that the release's
# builders download before, which docs/onboarding/ocp-build-data.patch lists.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

clone="$(mktemp -d)"
trap 'chmod -R u+w "$clone" && rm -rf "$clone"' EXIT
git ls-files --cached --others --exclude-standard -z | xargs -0 cp --parents -t "$clone"
cd "$clone"

# Only root may have a network of its own. Without it, the go command still downloads nothing.
isolated=()
! unshare --net true 2>/dev/null || isolated=(unshare --net)

# build takes the mode of the go command, and variables of its environment.
build() {
	step "building without network, MODULES=$1"
	sed -n 's/^RUN //p' Dockerfile.rhel | env MODULES="$1" GOPROXY=off "${@:2}" "${isolated[@]}" bash -euxo pipefail
}

make vendor
build vendor
rm -rf vendor test/ote/vendor

while read -r module; do
	(cd "$module" && GOMODCACHE="$clone/modules" go mod download)
done < <(sed -n 's/^+ *- path: //p' docs/onboarding/ocp-build-data.patch)
build readonly GOMODCACHE="$clone/modules"
