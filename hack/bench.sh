#!/usr/bin/env bash
# Measures what docs/benchmarks.md records and prints the rows of its table; the last column is the machine's load. All parts
# take about half an hour, most of it spent waiting. PARTS chooses among: start first memory idle rollout scale. All but
# start and first need root, as `make run` does.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

parts=()
start=
for part in ${PARTS:-start first memory idle rollout scale}; do
	if [[ "$part" == start ]]; then
		start=yes
	else
		parts+=("$part")
	fi
done

step "measuring ${PARTS:-everything}, $(nproc) CPUs, $(go version | cut -d' ' -f3), load $(cut -d' ' -f1 /proc/loadavg)" >&2
if [[ -n "$start" ]]; then
	make build >&2
	(cd test/devcluster && go run ./cmd/startbench \
		--binary="$ROOT/_output/cluster-cloud-controller-manager-operator" --inputs="$ROOT/pkg/cmd/render/testdata/openstack")
fi
if ((${#parts[@]})); then
	cd test/devcluster
	exec go run ./cmd/bench --parts="${parts[*]}"
fi
