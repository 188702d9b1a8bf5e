package operator

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/leadership"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// goldenWiring has each dependency that the wiring passes to a constructor.
const goldenWiring = "testdata/wiring.txt"

// Two informers or functions of one type are one to the compiler, and what two controllers share must be one object: a
// line of the golden file changes where the wiring passes another one.
func TestEachConstructorGetsTheDependenciesOfTheGoldenFile(t *testing.T) {
	o, cc := assemble(t, apitest.Start(t, addToScheme))
	o.OperatorImage, o.OperatorVersion, o.OperandVersion = "the operator's image", "the operator's version", "the operand's version"
	o.LeaderMemory, o.TokenLifetime, o.UninitializedThreshold = leadership.NewMemory(""), 1, 2
	o.Validity.Signer, o.Validity.Leaf = 3, 4
	o.SystemTrust.Source = "the system's trust"
	w, err := newWiring(o, cc)
	require.NoError(t, err)
	accepted := []acceptedBy{{"what all get", []any{w.deps()}}}
	before := dependencies.Accepted
	dependencies.Accepted = func(all []any) {
		caller, _, _, _ := runtime.Caller(2) // of Require
		accepted = append(accepted, acceptedBy{path.Base(runtime.FuncForPC(caller).Name()), all})
	}
	defer func() { dependencies.Accepted = before }()
	w.controllers()
	w.metrics()
	names := namesOf(w)
	var got strings.Builder
	shared := described(accepted[0].all[0], names)
	for i, by := range accepted {
		fmt.Fprintln(&got, by.constructor)
		for _, dependency := range by.all {
			text := described(dependency, names)
			if _, ok := dependency.(dependencies.Deps); ok && i > 0 && text == shared {
				text = "  what all get\n"
			}
			got.WriteString(text)
		}
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(goldenWiring, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(goldenWiring)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String(), "run make update-golden")
}

type acceptedBy struct {
	constructor string
	all         []any
}

// described returns lines about a dependency: each field of a struct.
func described(dependency any, names map[uintptr]string) string {
	value := reflect.ValueOf(dependency)
	if value.Kind() != reflect.Struct || value.NumField() == 0 {
		return "  " + describe(value, names) + "\n"
	}
	var text strings.Builder
	for field, v := range value.Fields() {
		fmt.Fprintf(&text, "  %s: %s\n", field.Name, describe(v, names))
	}
	return text.String()
}

// namesOf returns the names of the wiring's objects and informers by their addresses.
func namesOf(w *wiring) map[uintptr]string {
	names := map[uintptr]string{}
	for _, part := range []any{w.ControllerContext, *w} {
		for field, v := range reflect.Indirect(reflect.ValueOf(part)).Fields() {
			names[addressOf(v)] = "wiring." + field.Name
		}
	}
	for field, v := range reflect.ValueOf(w.informers).Fields() {
		name := "informers." + field.Name
		names[addressOf(v)] = name
		for v.Kind() != reflect.Map { // of library-go's, or maskedpods', to the map of the factory
			if v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
				v = v.Elem()
				continue
			}
			inner := v.FieldByName("informers")
			if !inner.IsValid() {
				inner = v.FieldByName("SharedInformerFactory")
			}
			if !inner.IsValid() {
				break
			}
			v = inner
		}
		if v.Kind() == reflect.Map {
			for _, kind := range v.MapKeys() {
				names[addressOf(v.MapIndex(kind))] = name
			}
		}
	}
	delete(names, 0)
	return names
}

// addressOf returns the address of what the value refers to, 0 if it refers to nothing.
func addressOf(v reflect.Value) uintptr {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map:
		return v.Pointer()
	case reflect.Interface:
		return addressOf(v.Elem())
	case reflect.Struct: // that wraps one, as the recorder
		if v.NumField() > 0 {
			return addressOf(v.Field(0))
		}
	default:
	}
	return 0
}

func describe(v reflect.Value, names map[uintptr]string) string {
	if v.Kind() == reflect.Func {
		return functionName(v)
	}
	if name := names[addressOf(v)]; name != "" && v.Kind() != reflect.Struct {
		return name
	}
	if informer, ok := v.Interface().(interface {
		Informer() cache.SharedIndexInformer
	}); ok {
		name := cmp.Or(v.Type().Name(), reflect.Indirect(v).Type().Name())
		return names[addressOf(reflect.ValueOf(informer.Informer()))] + " " + name
	}
	switch v.Kind() {
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct { // each is accepted by itself
			return fmt.Sprintf("%d of %s", v.Len(), v.Type().Elem())
		}
		var parts []string
		for i := range v.Len() {
			parts = append(parts, describe(v.Index(i), names))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case reflect.Map:
		return fmt.Sprintf("%s of %s", v.Type(), slices.Sorted(maps.Keys(stringKeys(v))))
	case reflect.Interface:
		return v.Elem().Type().String()
	case reflect.Pointer:
		return v.Type().String()
	case reflect.Struct:
		var parts []string
		for field, inner := range v.Fields() {
			parts = append(parts, field.Name+": "+describe(inner, names))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return fmt.Sprintf("%v", v.Interface())
	}
}

func stringKeys(v reflect.Value) map[string]bool {
	keys := map[string]bool{}
	for _, key := range v.MapKeys() {
		keys[key.String()] = true
	}
	return keys
}

// inlined matches the name of a function within another one. The compiler puts the callers before it where it inlines.
var inlined = regexp.MustCompile(`([^.]+)\.(func\d+)(\.\d+)*$`)

func functionName(v reflect.Value) string {
	name := strings.ReplaceAll(path.Base(runtime.FuncForPC(v.Pointer()).Name()), "[...]", "")
	if within := inlined.FindStringSubmatch(name); within != nil {
		return "a function of " + within[1]
	}
	return strings.TrimSuffix(name, "-fm")
}
