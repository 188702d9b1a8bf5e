#!/usr/bin/env bash
# Runs the tests of every module, the cheap ones first. --long (or E2E_LONG=1) adds the suites that are too long for every
# change.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

export E2E_LONG="${E2E_LONG:-}"
if [[ "${1:-}" == --long ]]; then
	E2E_LONG=1
fi

# Go shows nothing of a test before it ends, and the first build of the servers takes minutes: it is done here, in the open.
step "building what the development clusters run"
(cd test/devcluster && go build -o ../../_output/bin/devcluster ./cmd/devcluster)
_output/bin/devcluster build

# The order is that of cost: who broke a unit test need not wait for a cluster.
order=(. test/devcluster test/conformance test/integration test/e2e)

failed=()
for module in "${order[@]}"; do
	[[ -f "$module/go.mod" ]] || continue
	step "testing module $module"
	started=$SECONDS
	# One package at a time where a package starts a cluster of its own: two clusters share no bridge.
	flags=(-timeout=45m)
	[[ "$module" == . ]] || flags+=(-p=1)
	# These run the built operator, of which Go's test cache knows nothing. They take long and say where they are.
	[[ "$module" != test/integration && "$module" != test/e2e ]] || flags+=(-v -count=1)
	[[ -z "$E2E_LONG" ]] || flags+=(-timeout=2h)
	# These start the built cloud-controller-managers, of which it knows nothing either.
	[[ "$module" != test/conformance ]] || flags+=(-count=1)
	if (enter "$module" && go test "${flags[@]}" ./...); then
		step "module $module passed in $((SECONDS - started)) s"
	else
		step "module $module FAILED after $((SECONDS - started)) s"
		failed+=("$module")
	fi
done

if ((${#failed[@]})); then
	echo "failed modules: ${failed[*]}" >&2
	exit 1
fi
step "all tests passed in $SECONDS s"
