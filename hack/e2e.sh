#!/usr/bin/env bash
# Tells the story of a cluster on a platform whose cloud has a stand-in, or runs the test $2; $1 is the platform. CCM or
# CCM_IMAGE name a cloud-controller-manager that is not built here, and CCM_NODE_MANAGER the cloud-node-manager beside it.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

# go test shows no output before a test ends, and the first build of the servers takes minutes, so it runs here
# visibly.
step "building what the development cluster runs"
began=$SECONDS
(cd test/devcluster && go build -o ../../_output/bin/devcluster ./cmd/devcluster)
# The tests run in another directory.
for variable in CCM CCM_IMAGE CCM_NODE_MANAGER; do
	[[ -z "${!variable:-}" ]] || export "$variable=$(realpath -ms "${!variable}")"
done
if [[ -n "${CCM:-}${CCM_IMAGE:-}${CCM_NODE_MANAGER:-}" ]]; then
	_output/bin/devcluster ccm --platform="$1" --ccm="${CCM:-}" --ccm-image="${CCM_IMAGE:-}" \
		--ccm-node-manager="${CCM_NODE_MANAGER:-}"
fi
_output/bin/devcluster build
export BUILD_SECONDS=$((SECONDS - began))

step "testing a cluster on $1"
cd test/e2e
PLATFORM="$1" go test -v -count=1 -timeout=1h -run "^${2:-TestStory}\$" .
