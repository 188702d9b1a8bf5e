package offline

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Secret's manifest that cannot be read may be one whose values were not put in quotes.
func TestAnErrorQuotesNoValueOfAFile(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n"
	for name, test := range map[string]struct{ text, want string }{
		"an alias": {
			secret + "  password: *hunter2\n",
			"5:3: invalid YAML: an alias has no anchor: put a value that starts with * in quotes",
		},
		"an anchor of itself": {
			secret + "  password: &hunter2 [*hunter2]\n", "5:23: invalid YAML: the value of an anchor contains itself: put a value that starts with * in quotes",
		},
		"a tag": {
			secret + "  password: !!int hunter2\n",
			"5:13: invalid YAML: the value does not have the type that the exclamation marks name: put all of it in quotes",
		},
		"a tag on several lines": {
			secret + "  password: !!float |\n    hunter2\n    x\n",
			"5:13: invalid YAML: the value does not have the type that the exclamation marks name: put all of it in quotes",
		},
		"a float": {
			secret + "  password: !!float hunter2\n",
			"5:13: invalid YAML: the value does not have the type that the exclamation marks name: put all of it in quotes",
		},
		"a mapping as a key": {
			secret + "  ? {hunter2: x}\n  : y\n",
			"5:5: invalid YAML: a list or a mapping cannot be a key: put it in quotes",
		},
		"a list as a key": {
			secret + "  ? [hunter2]\n  : y\n",
			"5:5: invalid YAML: a list or a mapping cannot be a key: put it in quotes",
		},
		"a merge": {
			secret + "  <<: hunter2\n",
			"5:3: invalid YAML: the key << merges a mapping, and this is none: put the key in quotes",
		},
		"a percent sign": {
			secret + "  password: %hunter2\n", "5:3: invalid YAML: a value cannot start with this character: put it in quotes",
		},
		"an at sign": {
			secret + "  password: @hunter2\n", "5:3: invalid YAML: a value cannot start with this character: put it in quotes",
		},
		"an open quote": {
			secret + "  password: \"hunter2\n", "5:3: invalid YAML: the text ends inside quotes: close them",
		},
		"an unknown escape": {
			secret + "  password: \"\\hunter2\"\n", "5:3: invalid YAML: a backslash in double quotes starts an escape: write \\\\",
		},
		"a directive": {"%hunter2 x\n---\n" + secret, "1:1: invalid YAML: a line cannot start with % here: put the value in quotes"},
		"a handle":    {secret + "  password: !hunter2! x\n", "5:3: invalid YAML: a value cannot start with ! here: put it in quotes"},
		"base64": {
			secret + "  password: !!binary hunter2\n", "5:13: invalid YAML: the value does not have the type that the exclamation marks name: put all of it in quotes",
		},
		"a bad number": {
			secret + "metadata: {creationTimestamp: hunter2}\n", `5:1: duplicate key "metadata": keep one (see line 3)`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.yaml")
			require.NoError(t, os.WriteFile(file, []byte(test.text), 0o600))
			_, err := ReadObjects(file)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hunter2")
			require.Equal(t, file+":"+test.want, err.Error())
		})
	}
}

func TestAnErrorOfATypeQuotesNoValue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: Secret\n"+
		"metadata: {name: a, creationTimestamp: hunter2}\n"), 0o600))
	objects, err := ReadObjects(file)
	require.NoError(t, err)
	_, err = (&Cluster{objects: objects}).Secret("", "a")
	require.EqualError(t, err, objects[0].Source()+": a value does not have the form of its field: correct it")
}
