package codes

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNoCodeStandsForTwoThings(t *testing.T) {
	seen := map[string]bool{}
	for _, code := range All() {
		require.Regexp(t, `^CCM\d{4}$`, code.ID)
		require.False(t, seen[code.ID], "%s has two meanings: the next free number is at the end of its table", code.ID)
		require.NotContains(t, retired, code.ID, "a retired code is never used again")
		seen[code.ID] = true
		name := code.Finding + code.Reason
		require.NotEmpty(t, name, code.ID)
		require.False(t, seen[name], "%s has two codes", name)
		seen[name] = true
	}
}

func TestEachCodeSaysWhatToDo(t *testing.T) {
	for _, code := range All() {
		for _, text := range []string{code.Means, code.Do} {
			require.NotEmpty(t, text, code.ID)
			require.NotRegexp(t, `[.|\n]$`, text, code.ID)
		}
		require.Equal(t, code.Reason == "", code.Conditions == "", code.ID)
	}
}

// assigned has each code that was ever assigned. It only grows.
const assigned = "testdata/assigned.golden"

func TestACodeKeepsItsMeaningForEver(t *testing.T) {
	content, err := os.ReadFile(assigned)
	require.NoError(t, err)
	known := strings.FieldsFunc(string(content), func(r rune) bool { return r == '\n' })
	var current []string
	for _, code := range All() {
		current = append(current, code.ID+" "+code.Finding+code.Reason)
	}
	for _, line := range known {
		id, _, _ := strings.Cut(line, " ")
		if !slices.Contains(current, line) {
			require.Contains(t, retired, id, "it stood for %q: put it into retired, and give what is new a new code", line)
		}
	}
	for id := range retired {
		require.Regexp(t, "(?m)^"+id+" ", string(content), "retired, but never in use")
	}
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(known, current))))
	if os.Getenv("UPDATE_GOLDEN") != "" && !slices.Equal(known, all) {
		require.NoError(t, os.WriteFile(assigned, []byte(strings.Join(all, "\n")+"\n"), 0o644))
		assert.Fail(t, "the golden file is rewritten, look at the difference and run again without UPDATE_GOLDEN")
		return
	}
	require.Equal(t, all, known, "make update-golden adds a new code")
}

func TestACodeIsFoundAsItIsPrinted(t *testing.T) {
	for name, want := range map[string]string{
		"CCM0147":             "CCM0147",
		"ccm0147":             "CCM0147",
		"Refused":             "CCM0147",
		"CloudConfig_Refused": "CCM0147",
		"Invalid":             "",
		"":                    "",
		"CCM0000":             "",
		"_":                   "",
	} {
		code, found := Find(name)
		require.Equal(t, want, code.ID, name)
		require.Equal(t, want != "", found, name)
	}
	require.Equal(t, "CCM0001", OfFinding("Invalid"))
	require.Equal(t, "CCM0147", OfReason("Refused"))
	require.Empty(t, OfFinding("Refused")+OfReason("Invalid")+OfFinding("")+OfReason(""))
}

func TestARetiredCodeSaysWhatItWas(t *testing.T) {
	retired["CCM9999"] = "the reason Former"
	defer delete(retired, "CCM9999")
	was, found := Retired("ccm9999")
	require.True(t, found)
	require.Equal(t, "the reason Former", was)
	_, found = Retired("CCM0147")
	require.False(t, found)
}

// The document has the texts in a table.
func TestTextsFitATable(t *testing.T) {
	for _, code := range All() {
		require.NotRegexp(t, "[|`\n]", code.Means+code.Do+code.Conditions, code.ID)
	}
}
