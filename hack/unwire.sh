#!/usr/bin/env bash
# Takes one dependency after the other out of the wiring, as hack/unwire.tsv says, and runs the unit tests that must
# notice: those of the changed file's package, or of the packages in the last column. It prints the first test that
# failed for each row, and fails if none did for more than two. The argument selects rows by a regular expression; with
# --check, it only looks whether each row finds its line. --table hack/mutants.tsv takes rows that no unit test notices:
# for them, test/simulation must, except for a quarter. --table hack/mends.tsv undoes mends; each turns its test red.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# unwire prints the file with another text for the first line after the anchor that matches the pattern. The text - is
# no line at all. It fails if there is no such line.
unwire() {
	awk -v anchor="$2" -v pattern="$3" -v text="$4" '
		!done && after && $0 ~ pattern { done = 1; if (text != "-") print text; next }
		index($0, anchor) { after = 1 }
		{ print }
		END { exit !done }' "$1"
}

check= table=hack/unwire.tsv unnoticed=2
while [[ "${1:-}" == --* ]]; do
	case "$1" in
	--check) check=1 ;;
	--table) table="$2" && shift ;;
	*) echo "unknown option $1" >&2 && exit 2 ;;
	esac
	shift
done
case "$table" in
*mutants.tsv) unnoticed=$(($(grep -vc '^#' "$table") / 4)) ;;
*mends.tsv) unnoticed=0 ;;
esac
rows=0 green=0
while IFS=$'\t' read -r name file anchor pattern text packages; do
	[[ -n "$name" && "$name" != '#'* && "$name" =~ ${1:-.} ]] || continue
	rows=$((rows + 1))
	if ! unwire "$file" "$anchor" "$pattern" "$text" >"$work/changed.go"; then
		printf '%-60s no such line\n' "$name"
		green=$((green + 1))
		continue
	fi
	[[ -z "$check" ]] || continue
	printf '{"Replace": {"%s": "%s"}}' "$ROOT/$file" "$work/changed.go" >"$work/overlay.json"
	[[ -n "$packages" ]] || packages="./$(dirname "$file")"
	# shellcheck disable=SC2086 # Packages are several arguments.
	if go test -failfast -timeout=45m -overlay "$work/overlay.json" $packages >"$work/output" 2>&1; then
		red="NONE" green=$((green + 1))
	elif grep -q -E '\[(build|setup) failed\]' "$work/output"; then
		red="DOES NOT COMPILE: $(grep -m1 -E '\.go:[0-9]+' "$work/output" || true)" green=$((green + 1))
	else
		red="$(sed -n -E 's/^ *--- FAIL: (Test[^ /]*).*/\1/p' "$work/output" | head -n 1)"
		# A panic in a goroutine or an early exit has no line of its own.
		[[ -n "$red" ]] || red="$(grep -m1 -E '^(panic|FAIL)' "$work/output")"
	fi
	printf '%-60s %s\n' "$name" "$red"
done <"$table"

if [[ -n "$check" ]]; then
	exit "$((green > 0))"
fi
step "$((rows - green)) of $rows rows turned a test red"
((green <= unnoticed))
