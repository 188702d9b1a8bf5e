#!/usr/bin/env bash
# Runs every check that needs no cluster; TESTED=1 leaves out those that make test runs. It continues after a failure,
# so that one run shows all failures.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

check_format() {
	local unformatted
	unformatted="$(git ls-files --cached --others --exclude-standard -- '*.go' | xargs gofmt -l)"
	[[ -z "$unformatted" ]] || { printf 'not formatted, run gofmt -w:\n%s\n' "$unformatted" >&2; return 1; }
}

# go.sum pins the content of vendor/, and go mod verify proves that the downloads of the product still match it. Those of
# the tests were compared when they were downloaded.
check_modules() { for_each modules go mod tidy -diff && go mod verify; }

# Dockerfile.rhel builds a clone: with the modules that go.sum pins or, without network, from vendor/. Resolving every
# package and embedded file is a sufficient check, because the tests compile the same sources.
check_clone_builds() {
	local dir module status=0
	dir="$(mktemp -d)"
	git ls-files --cached --others --exclude-standard -z | xargs -0 cp --parents -t "$dir" || status=1
	for module in . test/ote; do
		(cd "$dir/$module" && GOFLAGS=-mod=readonly go list -deps ./... >/dev/null) || status=1
		(cd "$module" && go mod vendor -o "$dir/$module/vendor") || status=1
		(cd "$dir/$module" && GOFLAGS=-mod=vendor GOPROXY=off go list -deps ./... >/dev/null) || status=1
	done
	rm -rf "$dir"
	return "$status"
}

# report_outdated lists the direct modules that have a newer release of the same major version. Modules of Kubernetes
# follow a minor version. It only reports: a new release of a module fails no change.
report_outdated() {
	local direct format
	if ! go list -m -versions sigs.k8s.io/yaml >/dev/null 2>&1; then
		echo "    not known: the module proxy ($(go env GOPROXY)) does not answer"
		return
	fi
	direct="$(modules | sed 's|$|/go.mod|' | xargs awk '
		/^require \(/ { block = 1; next }
		/^\)/ { block = 0 }
		/\/\/ indirect/ || / v0\.0\.0$/ || /\/cluster-cloud-controller-manager-operator/ { next }
		block && NF >= 2 { print $1 "@" $2 }
		/^require [^(]/ { print $2 "@" $3 }' | sort -u)"
	format='{{.Path}} {{.Version}} {{with .Update}}{{.Version}}{{else}}'
	format+='{{if and .Error (not .Versions)}}unknown{{else}}-{{end}}{{end}} {{range .Versions}}{{.}} {{end}}'
	xargs go list -m -e -u -versions -f "$format" <<<"$direct" 2>/dev/null | awk '
		NF < 3 { next } # the rest of an error
		{
			newest = $3
			if ($1 ~ /^k8s\.io\// && $2 ~ /^v[01]\.[0-9]+\.[0-9]+$/) {
				split($2, is, "."); newest = "-"
				for (i = 4; i <= NF; i++) {
					split($i, v, ".")
					if ($i !~ /-/ && v[1] == is[1] && v[2] == is[2] && v[3] + 0 > is[3] + 0) newest = $i
				}
			}
			if (newest == "unknown") printf "    not known: %s %s\n", $1, $2
			else if (newest != "-") printf "    outdated: %s %s, the newest is %s\n", $1, $2, newest
		}'
}

check_types() { go test ./test/typecheck; }

check_architecture() { go test -count=1 ./test/architecture/...; }

# slow_in_race are tests that compute much or copy large texts, which takes a minute or more with the race detector. Other
# tests of their packages run the same goroutines.
slow_in_race='^(TestThePaceOfALargeCluster|TestTheTableOfTheGate|TestOneNodeCannotFillTheStatus|TestNoMessageHasMuchOfTheTextsOfOthers)$'

# check_races runs the tests of packages that have goroutines or timers with the race detector. The other packages only
# compute, and some take many minutes with it. So do the simulated rollouts of staticpod.
check_races() {
	command -v gcc >/dev/null || { echo "the race detector needs a C compiler: install gcc and libc6-dev" >&2; return 1; }
	local packages
	packages="$(go list ./pkg/operator/... ./pkg/configobservation ./pkg/controlplane/... ./pkg/filesyncer ./pkg/nodefiles | grep -v '/rollout/staticpod$')"
	# shellcheck disable=SC2086 # one argument a package
	CGO_ENABLED=1 go test -race -timeout=45m -skip="$slow_in_race" $packages &&
		CGO_ENABLED=1 go test -race -timeout=45m -run '^(TestTheController|TestNoController|TestTheOperatorEnds)' \
			./pkg/operator/rollout/staticpod
}

check_rows() {
	hack/unwire.sh --check && hack/unwire.sh --check --table hack/mutants.tsv &&
		hack/unwire.sh --check --table hack/mends.tsv
}

check_scripts() {
	local script
	while read -r script; do
		bash -n "$script" || return 1
	done < <(git ls-files --cached --others --exclude-standard -- '*.sh' .ci/run)
}

# for_each runs a command in every module that the first argument lists.
for_each() {
	local list="$1" module status=0
	shift
	while read -r module; do
		printf '    %s: %s\n' "$module" "$*"
		(cd "$module" && "$@") || status=1
	done < <("$list")
	return "$status"
}

failed=()
run() {
	step "$1"
	time "${@:2}" || failed+=("$1")
}

run "gofmt" check_format
run "bash syntax" check_scripts
run "generated files" hack/generate.sh --check
run "modules are tidy and verified" check_modules
run "sources of a build from a clone, with and without network" check_clone_builds
if [[ -z "${TESTED:-}" ]]; then # otherwise make test runs these
	run "types on every architecture of a release" check_types
	run "architecture" check_architecture
fi
run "rows of the un-wiring, the mutants and the mends" check_rows
run "golangci-lint" hack/lint.sh
run "race detector" check_races

step "direct modules with newer releases (a report)"
report_outdated || echo "    not known: the report failed"

if ((${#failed[@]})); then
	printf 'failed: %s\n' "${failed[@]}" >&2
	exit 1
fi
step "verified in $SECONDS s"
