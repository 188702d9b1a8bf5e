#!/usr/bin/env bash
# Causes every fault of the table of TestFaults (test/e2e) on one cluster, and stores the results in _output/proof.
# The first argument selects rows by a regular expression. A second one adds the rows of five minutes and more.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

export E2E_LONG=1 FAULTS_SLOW="${2:-}"

step "building what the development cluster runs"
(cd test/devcluster && go build -o ../../_output/bin/devcluster ./cmd/devcluster)
_output/bin/devcluster build

step "causing faults (about an hour without a selection)"
cd test/e2e
go test -v -count=1 -timeout=3h -run "^TestFaults(WithBackOff)?\$/(${1:-})" .
