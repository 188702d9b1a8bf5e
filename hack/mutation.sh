#!/usr/bin/env bash
# Mutates the code of pkg/platform, pkg/operand and pkg/operator, or of the given directories, with gremlins. It runs
# the mutated package's tests against each mutant and prints each package's score. It fails on a survivor that is not
# in hack/mutation-survivors.txt, and on an entry there that no longer survives. It takes hours.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

version=v0.6.0
accepted="$ROOT/hack/mutation-survivors.txt"
dirs=("$@")
(($#)) || dirs=(pkg/platform pkg/operand pkg/operator)

gremlins="$TOOLS/gremlins-$version/gremlins"
[[ -x "$gremlins" ]] || { step "building gremlins $version"; GOBIN="${gremlins%/*}" go install "github.com/go-gremlins/gremlins/cmd/gremlins@$version"; }

# gremlins copies the whole module for each worker, so it runs in a copy without _output.
work="$(mktemp -d)"
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
mkdir "$work/module" "$work/bin" "$work/tmp"
git ls-files --cached --others --exclude-standard -z | xargs -0 cp --parents -t "$work/module"

# gremlins interprets exit code 1 as a failed test. go test also returns it for a mutant that does not compile, which
# is not a kill. gremlins also skips code that no block of the coverage profile contains: conditions of switch cases,
# constants, and code that no test reaches. The profile therefore gets a block for each whole file.
export REAL_GO
REAL_GO="$(command -v go)"
cat >"$work/bin/go" <<'EOF'
#!/usr/bin/env bash
output="$("$REAL_GO" "$@" 2>&1)" && status=0 || status=$?
printf '%s\n' "$output"
[[ "$output" != *'[build failed]'* ]] || exit 2
while (($#)); do
	if [[ "$1" == -coverprofile ]]; then
		sed -i -n -E 'p; s/^(.*\.go):.*/\1:1.1,99999.1 1 1/p' "$2"
	fi
	shift
done
exit "$status"
EOF
chmod +x "$work/bin/go"

for dir in "${dirs[@]}"; do
	step "mutating $dir"
	# A mutant that vet rejects is not killed by a test, and a slow machine is no endless loop: 100 times the tests' duration.
	(cd "$work/module" && PATH="$work/bin:$PATH" TMPDIR="$work/tmp" \
		"$gremlins" unleash --workers="${WORKERS:-1}" --timeout-coefficient=100 "./$dir") | sed -u "s#^\(.* at \)#\1$dir/#" | tee -a "$work/log"
done

# Each line: status, kind of mutation, file, line. A mutant that does not compile does not count.
sed -n -E 's/^ *(KILLED|LIVED|NOT COVERED|TIMED OUT) ([A-Z_]+) at (.*):([0-9]+):[0-9]+$/\1\t\2\t\3\t\4/p' "$work/log" >"$work/mutants"

step "score"
awk -F '\t' '{ dir = $3; sub("/[^/]*$", "", dir); all[dir]++; sum++; if ($1 == "KILLED") { killed[dir]++; kills++ } }
	END { for (d in all) printf "%5.1f %% killed  %4d of %4d  %s\n", 100 * killed[d] / all[d], killed[d], all[d], d
		printf "%5.1f %% killed  %4d of %4d  in all\n", 100 * kills / sum, kills, sum }' "$work/mutants" | sort -k6

# A survivor's identity is its file, the kind of mutation and the line's text, so that it survives changed line
# numbers.
grep -v '^KILLED' "$work/mutants" | while IFS=$'\t' read -r _ kind file line; do
	printf '%s\t%s\t%s\n' "$file" "$kind" "$(sed -n "${line}s/^[[:space:]]*//p" "$file")"
done | sort >"$work/survivors" || true
# An entry for the file * is about each survivor of its kind whose line contains its text.
while IFS=$'\t' read -r file kind text _; do
	[[ "$file" == '*' ]] || continue
	awk -F '\t' -v kind="$kind" -v text="$text" '$2 != kind || !index($3, text)' "$work/survivors" >"$work/others"
	mv "$work/others" "$work/survivors"
done <"$accepted"
prefixes="$(IFS='|'; printf '^(%s)/' "${dirs[*]}")"
grep -v '^#' "$accepted" | grep -E "$prefixes" | cut -f1-3 | sort >"$work/accepted" || true

failed=0
comm -23 "$work/survivors" "$work/accepted" | grep . && { echo "these survive and are not in $accepted: test them, or add them with the reason" >&2; failed=1; }
comm -13 "$work/survivors" "$work/accepted" | grep . && { echo "these no longer survive: remove them from $accepted" >&2; failed=1; }
exit "$failed"
