package confdoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAReasonHasNoPrefixOfTheYAMLLibraries(t *testing.T) {
	for _, prefix := range []string{"", "yaml: ", "error converting YAML to JSON: yaml: ", "error converting YAML to JSON: "} {
		require.Equal(t, "control characters", yamlReason(prefix+"control characters"), prefix)
		require.Equal(t, "invalid YAML: an alias, an anchor, a tag or a key does not fit here: put the value in quotes",
			YAMLError([]byte("a: b\n"), errors.New(prefix+"unmarshal errors:\n  a")).Message, prefix)
	}
}

func TestJSONReasonHasNoWordsOfTheLibraryAndNoValue(t *testing.T) {
	type typed struct {
		List    []string          `json:"list"`
		Map     map[string]string `json:"map"`
		Text    string            `json:"text"`
		Switch  bool              `json:"switch"`
		Count   int32             `json:"count"`
		Content []byte            `json:"content"`
		Share   float64           `json:"share"`
	}
	for text, want := range map[string]string{
		`{"lsit": 1}`:         `unknown field "lsit"`,
		`{"list": "secret"}`:  "in list: a string where a list must be",
		`{"map": ["secret"]}`: "in map: a list where a mapping must be",
		`{"text": 4711}`:      "in text: a number where a string must be",
		`{"switch": "yes"}`:   "in switch: a string where true or false must be",
		`{"count": true}`:     "in count: a boolean where a number must be",
		`{"content": {}}`:     "in content: a mapping where a string in base64 must be",
		`{"share": "much"}`:   "in share: a string where a float64 must be",
		`["secret"]`:          "a list where a mapping must be",
		`{"text": secret}`:    "it is not valid JSON",
	} {
		decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&typed{})
		require.Error(t, err, text)
		require.Equal(t, want, JSONReason(err), text)
	}
}
