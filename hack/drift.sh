#!/usr/bin/env bash
# Prints what differs between what the code assumes and checkouts of other repositories, such as openshift/api, siblings
# of the operator and forks of cloud-controller-managers, or the flags of a built cloud-controller-manager. It fetches
# nothing.
set -euo pipefail

paths=()
for checkout in "$@"; do
	paths+=("$(realpath "$checkout")")
done
source "$(dirname "$0")/modules.sh"
exec go run ./test/drift/cmd/drift "${paths[@]}"
