package extension

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/spf13/pflag"
)

// environment is what openshift-tests knows about the cluster.
type environment struct {
	apiGroups, featureGates, optionalCapabilities []string
	facts                                         map[string]string

	// values are those of the other flags, by the name in CEL.
	values map[string]*string
}

// variables are the flags that become variables of their own, by the name of the flag.
var variables = map[string]string{
	"architecture": "architecture", "external-connectivity": "externalConnectivity", "network": "network",
	"network-stack": "networkStack", "platform": "platform", "topology": "topology", "upgrade": "upgrade",
	"version": "version",
}

func (e *environment) bind(flags *pflag.FlagSet) {
	flags.StringArrayVar(&e.apiGroups, "api-group", nil, "an API group that the cluster serves (v1.1)")
	flags.StringArrayVar(&e.featureGates, "feature-gate", nil, "a feature gate that is on in the cluster (v1.1)")
	flags.StringSliceVar(&e.optionalCapabilities, "optional-capability", nil, "a capability that is enabled (v1.0)")
	flags.StringToStringVar(&e.facts, "fact", nil, "a fact about the cluster (v1.0)")
	e.values = map[string]*string{}
	for flag, variable := range variables {
		e.values[variable] = flags.String(flag, "", "the cluster's "+flag+" (v1.0)")
	}
}

// selects reports whether the test applies to the environment. What openshift-tests did not say excludes nothing.
func (e *environment) selects(t Test) (bool, error) {
	input := map[string]any{
		"apiGroups": orEmpty(e.apiGroups), "featureGates": orEmpty(e.featureGates),
		"optionalCapabilities": orEmpty(e.optionalCapabilities), "facts": e.facts,
	}
	known := len(e.apiGroups)+len(e.featureGates)+len(e.optionalCapabilities)+len(e.facts) > 0
	options := []cel.EnvOption{
		cel.Variable("apiGroups", cel.ListType(cel.StringType)),
		cel.Variable("featureGates", cel.ListType(cel.StringType)),
		cel.Variable("optionalCapabilities", cel.ListType(cel.StringType)),
		cel.Variable("facts", cel.MapType(cel.StringType, cel.StringType)),
	}
	for variable, value := range e.values {
		input[variable] = *value
		known = known || *value != ""
		options = append(options, cel.Variable(variable, cel.StringType))
	}
	if !known {
		return true, nil
	}
	if include := t.EnvironmentSelector.Include; include != "" {
		if included, err := evaluate(include, input, options); err != nil || !included {
			return false, err
		}
	}
	if exclude := t.EnvironmentSelector.Exclude; exclude != "" {
		excluded, err := evaluate(exclude, input, options)
		return !excluded, err
	}
	return true, nil
}

// has reports whether a test belongs to the suite.
func (s *Suite) has(t Test) (bool, error) {
	input := map[string]any{"name": t.Name, "labels": t.Labels.UnsortedList()}
	options := []cel.EnvOption{
		cel.Variable("name", cel.StringType), cel.Variable("labels", cel.ListType(cel.StringType)),
	}
	for _, qualifier := range s.Qualifiers {
		if is, err := evaluate(qualifier, input, options); err != nil || is {
			return is, err
		}
	}
	return len(s.Qualifiers) == 0, nil
}

func evaluate(expression string, input map[string]any, options []cel.EnvOption) (bool, error) {
	env, err := cel.NewEnv(options...)
	if err != nil {
		return false, fmt.Errorf("CEL: %w", err)
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return false, fmt.Errorf("expression %q: %w", expression, issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		return false, fmt.Errorf("expression %q: %w", expression, err)
	}
	value, _, err := program.Eval(input)
	if err != nil {
		return false, fmt.Errorf("expression %q: %w", expression, err)
	}
	is, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("expression %q: it is no condition", expression)
	}
	return is, nil
}

// selected returns the tests of a suite, all if its name is empty, that apply to the environment.
func (e *Extension) selected(suite string, in *environment) ([]Test, error) {
	var of *Suite
	if suite != "" {
		i := slices.IndexFunc(e.Suites, func(s Suite) bool { return s.Name == suite })
		if i < 0 {
			return nil, fmt.Errorf("there is no suite %q; `list suites` names them", suite)
		}
		of = &e.Suites[i]
	}
	tests := []Test{}
	for _, t := range e.Tests {
		if of != nil {
			if has, err := of.has(t); err != nil || !has {
				if err != nil {
					return nil, fmt.Errorf("suite %s: %w", suite, err)
				}
				continue
			}
		}
		is, err := in.selects(t)
		if err != nil {
			return nil, fmt.Errorf("test %s: %w", t.Name, err)
		}
		if is {
			tests = append(tests, t)
		}
	}
	return tests, nil
}

func orEmpty(list []string) []string { return append([]string{}, list...) }
