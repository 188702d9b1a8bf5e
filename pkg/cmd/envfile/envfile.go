// Package envfile implements the command that converts files with secrets to a file of environment variables, which a
// container reads through fileKeyRef. It is for a cloud-controller-manager that accepts a secret only from its
// environment. The secret is then neither in the pod's specification nor in a log.
package envfile

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

// maxLine is the longest line that the kubelet reads, without the newline.
const maxLine = bufio.MaxScanTokenSize - 2

// maxFile is the maximum size of a Secret.
const maxFile = 1 << 20

// variableName matches names that shells and C libraries accept.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

type options struct {
	output      string
	set         []string
	setIfExists []string
}

// NewCommand returns the command, which is hidden because only init containers use it.
func NewCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:           "env-file --output=FILE --set=NAME=FILE...",
		Short:         "Write a file with environment variables from files with their values",
		Args:          cobra.NoArgs,
		Hidden:        true,
		SilenceUsage:  true,
		SilenceErrors: true, // the root command's caller prints it
		RunE: func(*cobra.Command, []string) error {
			if err := o.run(); err != nil {
				return errors.New(printable.Text(err.Error())) // names of files come from the pod's specification
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&o.output, "output", "", "File to write. Required.")
	cmd.Flags().StringArrayVar(&o.set, "set", nil,
		"NAME=FILE: the variable NAME gets the content of FILE without trailing newlines. May be repeated.")
	cmd.Flags().StringArrayVar(&o.setIfExists, "set-if-exists", nil,
		"Like --set, but omits the variable if FILE does not exist. May be repeated.")
	return cmd
}

type variable struct{ name, value string }

// run reads and checks all values before it writes the file.
func (o *options) run() error {
	if o.output == "" {
		return errors.New("--output is required: specify the file to write")
	}
	if len(o.set)+len(o.setIfExists) == 0 {
		return errors.New("nothing to write: specify --set or --set-if-exists")
	}
	var variables []variable
	var errs []error
	add := func(flag, assignment string, optional bool) {
		v, err := read(assignment)
		switch {
		case optional && errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
		case slices.ContainsFunc(variables, func(other variable) bool { return other.name == v.name }):
			errs = append(errs, fmt.Errorf("--%s: %s is set twice", flag, v.name))
		default:
			variables = append(variables, v)
		}
	}
	for _, assignment := range o.set {
		add("set", assignment, false)
	}
	for _, assignment := range o.setIfExists {
		add("set-if-exists", assignment, true)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var content []byte
	for _, v := range variables {
		content = fmt.Appendf(content, "%s='%s'\n", v.name, v.value)
	}
	return write(o.output, content)
}

// read reads the value of NAME=FILE. Errors contain the name and the file, but no part of the value.
func read(assignment string) (variable, error) {
	name, file, found := strings.Cut(assignment, "=")
	if !found || file == "" || !variableName.MatchString(name) {
		return variable{}, fmt.Errorf("%q is not NAME=FILE with a NAME of letters, digits and underscores", assignment)
	}
	data, err := regularfile.Read(file, maxFile)
	if err != nil {
		return variable{}, fmt.Errorf("%s: reading the value: %w", name, err)
	}
	value := strings.TrimRight(string(data), "\r\n")
	if cause := invalidValue(name, value); cause != "" {
		return variable{}, fmt.Errorf("%s: %s %s", name, file, cause)
	}
	return variable{name, value}, nil
}

// invalidValue returns why the kubelet could not read the value back unchanged, or an empty string if it can. The
// kubelet's format has single quotes and no escapes (k8s.io/kubernetes/pkg/kubelet/util/env).
func invalidValue(name, value string) string {
	switch {
	case value == "":
		return "is empty; a secret was expected"
	case !utf8.ValidString(value):
		return "is not UTF-8 text, which an environment variable must be"
	case strings.ContainsAny(value, "\r\n"):
		return "has more than one line; an environment variable can have only one"
	case strings.ContainsRune(value, 0):
		return "contains a NUL byte, which an environment variable cannot have"
	case strings.ContainsRune(value, '\''):
		return "contains a single quote, which the kubelet's format does not support; use a value without one"
	case len(name)+len("=''")+len(value) > maxLine:
		return fmt.Sprintf("has %d bytes, more than the kubelet reads in a line", len(value))
	}
	return ""
}

// write replaces the file atomically. It does not create a missing directory, which is a mistake in the pod.
func write(path string, data []byte) error {
	if err := regularfile.CheckOutput(path); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nodefiles.ReplaceFile(path, data)
}
