#!/usr/bin/env bash
# Runs the benchmarks of docs/benchmarks.md and prints the rows of its table; the last column is the machine's load.
# All parts take about an hour and a half, mostly waiting. PARTS selects among: platforms start first memory idle rollout
# scale nodes many forged. All but the first three require root, as `make run` does.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

parts=()
start=
platforms=
for part in ${PARTS:-platforms start first memory idle rollout scale nodes many forged}; do
	case "$part" in
	platforms) platforms=yes ;;
	start) start=yes ;;
	*) parts+=("$part") ;;
	esac
done

step "measuring ${PARTS:-everything}, $(nproc) CPUs, $(go version | cut -d' ' -f3), load $(cut -d' ' -f1 /proc/loadavg)" >&2
if [[ -n "$platforms" ]]; then
	# Ten times a second's worth; median, least and most.
	go test -run='^$' -bench='^BenchmarkEveryPlatform$' -benchtime=1s -count=10 ./pkg/operand |
		awk '/^BenchmarkEveryPlatform/ {
			for (i = 3; i < NF; i += 2) value[$(i + 1)] = $i
			time[++n] = value["ns/op"] / 1e6
		} END {
			if (!n) exit 1
			for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (time[j] < time[i]) { t = time[i]; time[i] = time[j]; time[j] = t }
			printf "| every platform in both phases in one process (%d renderings) | | %.1f ms (%.1f–%.1f), %.1f MiB allocated | '"$(cut -d' ' -f1 /proc/loadavg)"' |\n",
				value["renderings/op"], time[int((n + 1) / 2)], time[1], time[n], value["B/op"] / 1048576
		}'
fi
if [[ -n "$start" ]]; then
	make build >&2
	(cd test/devcluster && go run ./cmd/startbench \
		--binary="$ROOT/_output/cluster-cloud-controller-manager-operator" --inputs="$ROOT/pkg/cmd/render/testdata/openstack")
fi
if ((${#parts[@]})); then
	cd test/devcluster
	exec go run ./cmd/bench --parts="${parts[*]}"
fi
