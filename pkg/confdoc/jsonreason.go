package confdoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// JSONReason returns what an error of encoding/json means for the author of a text, without the library's words and
// without the value, which may be a secret.
func JSONReason(err error) string {
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrongType):
		is, wants := JSONTypes(wrongType)
		reason := fmt.Sprintf("%s where %s must be", is, wants)
		if wrongType.Field == "" {
			return reason
		}
		// The library names no key of a map, so the value may be that of a key below the field.
		return fmt.Sprintf("in %s: %s", wrongType.Field, reason)
	case errors.As(err, &syntax):
		return "it is not valid JSON"
	}
	return strings.TrimPrefix(err.Error(), "json: ") // unknown field "x"
}

// JSONTypes names the type of a value and the type that its field has.
func JSONTypes(wrong *json.UnmarshalTypeError) (is, wants string) {
	kind, _, _ := strings.Cut(wrong.Value, " ") // a number comes with its digits
	is = map[string]string{"object": "a mapping", "array": "a list", "bool": "a boolean"}[kind]
	if is == "" {
		is = "a " + kind
	}
	switch wrong.Type.Kind() {
	case reflect.String:
		return is, "a string"
	case reflect.Struct, reflect.Map:
		return is, "a mapping"
	case reflect.Slice:
		if wrong.Type.Elem().Kind() == reflect.Uint8 {
			return is, "a string in base64"
		}
		return is, "a list"
	case reflect.Bool:
		return is, "true or false"
	case reflect.Int32, reflect.Int64:
		return is, "a number"
	default:
		return is, "a " + wrong.Type.String()
	}
}
