#!/usr/bin/env bash
# Starts the development cluster: make run PLATFORM=… NODES=… CCM=…. It says in one line what is missing before it
# builds anything.
set -euo pipefail
cd "$(dirname "$0")/.."

platforms=(OpenStack AWS Azure AzureStack VSphere AlibabaCloud DigitalOcean External GCP IBMCloud Nutanix PowerVS BareMetal None)
platform="${PLATFORM:-OpenStack}"
nodes="${NODES:-3}"

refuse() {
	echo "make run: $*" >&2
	exit 2
}

known=
for name in "${platforms[@]}"; do
	[[ "${name,,}" != "${platform,,}" ]] || known="$name"
done
[[ -n "$known" ]] || refuse "PLATFORM=$platform does not exist: write one of ${platforms[*]}"
[[ "$nodes" =~ ^[1-9]$ ]] || refuse "NODES=$nodes: write a number from 1 to 9"
command -v go >/dev/null || refuse "go is not in PATH: install Go $(awk '$1 == "go" { print $2 }' go.mod) (https://go.dev/dl)"
[[ "$(id -u)" == 0 ]] || refuse "the nodes need root: run it as root"

source hack/modules.sh
step "building the development cluster's command"
# go build prints nothing until it has ended, which takes two minutes with cold caches.
started=$SECONDS
next=15
(cd test/devcluster && exec go build -o ../../_output/bin/devcluster ./cmd/devcluster) &
build=$!
trap 'kill "$build" 2>/dev/null || true' EXIT
while kill -0 "$build" 2>/dev/null; do
	sleep 1
	# On a busy machine, a second of sleep may last two.
	if ((SECONDS - started >= next)); then
		echo "    still building, $((SECONDS - started)) s"
		next=$((SECONDS - started + 15))
	fi
done
wait "$build" || exit
trap - EXIT
exec _output/bin/devcluster run --platform="$known" --nodes="$nodes" --ccm="${CCM:-}" --ccm-image="${CCM_IMAGE:-}" \
	--ccm-node-manager="${CCM_NODE_MANAGER:-}"
