// Package usage formats what a command writes as its last line on stderr when it cannot do what it was told.
package usage

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// LastLine returns the error as one line with the command's name: scripts, and bootkube's report of a failure, show
// only the end of stderr.
func LastLine(command string, err error) string {
	return command + ": " + printable.Line(strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")) + "\n"
}

// takes says what the flags of a type take. Other types have errors of their own, which say it.
var takes = map[string]string{
	"bool":     "true or false",
	"duration": "a duration such as 5m",
	"int":      "a number",
	"int32":    "a number",
	"Level":    "a number", // that of the logs
}

// FlagError says what a flag takes instead of quoting the library that could not read its value.
func FlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	name, value := invalid.GetFlag().Name, invalid.GetValue()
	if wants, known := takes[invalid.GetFlag().Value.Type()]; known {
		return fmt.Errorf("--%s is %q: specify %s", name, value, wants)
	}
	return fmt.Errorf("--%s is %q: %w", name, value, invalid.Unwrap())
}
