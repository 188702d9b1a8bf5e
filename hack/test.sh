#!/usr/bin/env bash
# Runs the tests of every module, the fast ones first. --long (or E2E_LONG=1) adds suites that are too long for every
# change.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

export E2E_LONG="${E2E_LONG:-}"
if [[ "${1:-}" == --long ]]; then
	E2E_LONG=1
fi

# go test shows no output before a test ends, and the first build of the servers takes minutes, so it runs here
# visibly.
step "building what the development clusters run"
(cd test/devcluster && go build -o ../../_output/bin/devcluster ./cmd/devcluster)
time _output/bin/devcluster build

# Fast modules come first, so that a failing unit test shows before a cluster starts.
order=(. test/alerts test/ote test/devcluster test/conformance test/integration test/e2e)

failed=()
for module in "${order[@]}"; do
	[[ -f "$module/go.mod" ]] || continue
	step "testing module $module"
	# One package at a time: packages that start a cluster share a bridge.
	flags=(-timeout=45m)
	[[ "$module" == . ]] || flags+=(-p=1)
	# These tests run the built operator, which Go's test cache does not track. They take long, so they print their
	# progress.
	[[ "$module" != test/integration && "$module" != test/e2e ]] || flags+=(-v -count=1)
	# They mostly wait. Each has a control plane, of about a gigabyte.
	[[ "$module" != test/integration ]] || flags+=(-parallel=3)
	[[ "$module" != test/e2e ]] || flags+=(-parallel=2)
	[[ -z "$E2E_LONG" ]] || flags+=(-timeout=16h)
	# These tests run the built cloud-controller-managers, which the test cache does not track either.
	[[ "$module" != test/conformance ]] || flags+=(-count=1)
	if time (cd "$module" && go test "${flags[@]}" ./...); then
		step "module $module passed"
	else
		step "module $module FAILED"
		failed+=("$module")
	fi
done

if ((${#failed[@]})); then
	echo "failed modules: ${failed[*]}" >&2
	exit 1
fi
step "all tests passed in $SECONDS s"
