#!/usr/bin/env bash
# Sourced by the other scripts: finds the repository and its Go modules.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"

# The flags of everything that is built here, so that the libraries that all modules share are compiled once. No binary
# keeps its DWARF, and the compiler takes a tenth less time without it. The linter runs all analyzers of vet; go test would
# run some of them again, on every library too.
export CGO_ENABLED=0 GOFLAGS="$(go env GOFLAGS) -trimpath -gcflags=all=-dwarf=false -vet=off"

TOOLS="$ROOT/_output/tools"

# step prints a progress message, so that long steps are visible.
step() { printf '==> %s\n' "$*"; }

# What `time` prints below a step: the steps of .ci/run share its CPUs, so the elapsed time alone says little.
TIMEFORMAT='    %0R s, %0U s of CPU and %0S s in the kernel'

# modules prints the directory of every module, the root first.
modules() { git ls-files --cached --others --exclude-standard -- 'go.mod' '**/go.mod' | xargs -n1 dirname | sort; }

# code_modules prints the modules with our code. The others only pin the versions of commands that are built
# elsewhere.
code_modules() { modules | grep -v -e '^test/devcluster/build/' -e '^hack/tools$'; }

# with_node_uid adds NodeStatus.nodeUID to a CRD file, as openshift/api has it since August 2026: the pinned version does
# not know it, and the API server would drop what a newer release has written.
with_node_uid() {
	grep -q '^ *nodeUID:$' "$1" || sed -i '/^                    targetRevision:$/i\
                    nodeUID:\
                      description: |-\
                        nodeUID is the UID of the node.\
                        This field is used to detect that a node has been deleted and recreated\
                        with the same name. When the UID changes, it indicates the node is a\
                        new instance and the controller should treat this status entry as stale.\
                        When omitted, UID-based node replacement detection is not available\
                        for this entry.\
                      format: uuid\
                      maxLength: 36\
                      minLength: 36\
                      type: string' "$1"
}

# tool builds a command of hack/tools, once per version, and prints its path.
tool() {
	local name="$1" package="$2" stamp
	stamp="$(cat hack/tools/go.sum <(go version) | sha256sum | cut -c1-16)"
	if [[ ! -x "$TOOLS/$name-$stamp" ]]; then
		step "building $name from hack/tools (about two minutes with a cold cache)" >&2
		mkdir -p "$TOOLS"
		rm -f "$TOOLS/$name"-*
		(cd hack/tools && go build -o "$TOOLS/$name-$stamp" "$package") >&2
	fi
	printf '%s\n' "$TOOLS/$name-$stamp"
}
