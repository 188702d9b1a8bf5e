package customccm

import (
	"strconv"
	"strings"
)

// nameOf returns the name of a flag with leading dashes. Like the parser of Kubernetes, it takes an underscore for a
// dash.
func nameOf(flag string) string { return strings.ReplaceAll(strings.TrimLeft(flag, "-"), "_", "-") }

// flagOf splits an argument of the form --name=value. It returns empty strings for any other argument.
func flagOf(arg string) (name, value string) {
	name, value, found := strings.Cut(arg, "=")
	if !found || !strings.HasPrefix(name, "-") {
		return "", ""
	}
	return nameOf(name), value
}

// flagValue returns the last value of a flag in args, also as a separate argument, and whether args has the flag.
func flagValue(args []string, name string) (value string, found bool) {
	for i, arg := range args {
		if n, v := flagOf(arg); n == name {
			value, found = v, true
		}
		if !strings.HasPrefix(arg, "-") || nameOf(arg) != name {
			continue
		}
		// A boolean flag needs no value.
		value, found = "true", true
		if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			value = args[i+1]
		}
	}
	return value, found
}

// sameValue reports whether two values of a flag are equal. A boolean has several spellings.
func sameValue(a, b string) bool {
	left, leftErr := strconv.ParseBool(a)
	right, rightErr := strconv.ParseBool(b)
	return a == b || leftErr == nil && rightErr == nil && left == right
}
