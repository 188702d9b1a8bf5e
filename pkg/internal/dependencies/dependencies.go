// Package dependencies refuses to build a controller without one of its dependencies. The compiler accepts a struct
// without all fields, and a controller notices a missing one only when it uses it, perhaps after months.
package dependencies

import (
	"fmt"
	"reflect"
)

// Accepted is called with each struct that Require accepts. Only a test of the wiring replaces it.
var Accepted = func(any) {}

// Require panics if a field of the struct, or of the struct that the pointer has, is not set: an interface, a function,
// a pointer or a channel is nil, or a string, a slice or a map is empty. It includes embedded structs and unexported
// fields. Other kinds have a zero value that selects a default, as has a field with the tag optional, whose value is
// the reason.
func Require(options any) {
	require(reflect.Indirect(reflect.ValueOf(options)))
	Accepted(options)
}

func require(options reflect.Value) {
	for field, value := range options.Fields() {
		_, optional := field.Tag.Lookup("optional")
		switch {
		case optional:
		case field.Anonymous && value.Kind() == reflect.Struct:
			require(value)
		case !isSet(value):
			panic(fmt.Sprintf("%s.%s is not set", options.Type(), field.Name))
		}
	}
}

func isSet(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface:
		return !v.IsNil() && isSet(v.Elem())
	case reflect.Func, reflect.Pointer, reflect.Chan:
		return !v.IsNil()
	case reflect.String, reflect.Slice, reflect.Map:
		return v.Len() > 0
	default:
		return true
	}
}
