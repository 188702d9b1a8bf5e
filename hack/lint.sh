#!/usr/bin/env bash
# Runs golangci-lint over every module with our code. It passes on arguments such as --fix.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

linter="$(tool golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint)"

failed=0
while read -r module; do
	step "linting module $module"
	(cd "$module" && GOLANGCI_LINT_CACHE="$ROOT/_output/lint-cache" "$linter" run --config "$ROOT/hack/golangci.yaml" --allow-parallel-runners "$@" ./...) || failed=1
done < <(code_modules)
exit "$failed"
