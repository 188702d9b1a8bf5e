#!/usr/bin/env bash
# Rewrites the golden files of every module. A test that rewrites one fails on purpose, so the first run's result is
# ignored; a second run proves that the files are stable.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

# golden_tests runs the tests in the files that mention golden files, in every package that can rewrite them.
golden_tests() {
	local folder tests status=0
	while read -r folder; do
		tests="$(grep -il golden "$folder"/*_test.go | xargs sed -n -E 's/^func (Test[A-Za-z0-9_]+)\(.*/\1/p' | paste -sd '|')"
		(cd "$folder" && go test -count=1 -run "^($tests)\$" .) || status=1
	done < <(git grep --untracked -lE 'UPDATE_GOLDEN|cloudtest\.Require(Golden|Text)' -- '*_test.go' | xargs -n1 dirname | sort -u)
	return "$status"
}

step "rewriting golden files"
UPDATE_GOLDEN=1 golden_tests >/dev/null 2>&1 || true
step "checking that a second run agrees"
golden_tests
git --no-pager diff --stat
