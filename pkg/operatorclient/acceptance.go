package operatorclient

import (
	"fmt"
	"slices"
	"strings"
)

// IsAccepted reports whether an administrator has accepted a value: PreflightAnnotation has one or several, separated
// by commas.
func IsAccepted(annotation, value string) bool {
	is := func(v string) bool { return strings.TrimSpace(v) == value }
	return slices.ContainsFunc(strings.Split(annotation, ","), is)
}

// AcceptCommand returns the command with which an administrator accepts one more value.
func AcceptCommand(annotation, value string) string {
	if annotation != "" {
		value = annotation + "," + value
	}
	return fmt.Sprintf("oc annotate --overwrite cloudcontrollermanager %s %s=%s", Instance, PreflightAnnotation, value)
}
