package conformance

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/stretchr/testify/require"
	"k8s.io/cloud-provider-openstack/pkg/openstack"
	"k8s.io/cloud-provider-openstack/pkg/util"
)

// kinds are our names for the types that the provider gives to its keys.
var kinds = map[reflect.Type]string{
	reflect.TypeFor[string]():                        "text",
	reflect.TypeFor[gophercloud.Availability]():      "word",
	reflect.TypeFor[bool]():                          "bool",
	reflect.TypeFor[int]():                           "int",
	reflect.TypeFor[uint]():                          "uint",
	reflect.TypeFor[util.MyDuration]():               "duration",
	reflect.TypeFor[[]string]():                      "list",
	reflect.TypeFor[map[string]*openstack.LBClass](): "refused", // found by name, but of no type that can be read
}

// theirKeys are the provider's sections, keys and types, from the types that it reads its configuration into. gcfg takes a
// field's tag, or else its name, and compares without regard to case.
func theirKeys(t *testing.T) []string {
	t.Helper()
	var keys []string
	for _, section := range reflect.VisibleFields(reflect.TypeFor[openstack.Config]()) {
		keyed := section.Type
		if keyed.Kind() == reflect.Map {
			keyed = keyed.Elem().Elem()
		}
		for _, field := range reflect.VisibleFields(keyed) {
			name, _, _ := strings.Cut(field.Tag.Get("gcfg"), ",")
			if name == "" {
				name = strings.ToLower(field.Name)
			}
			kind, known := kinds[field.Type]
			require.True(t, known, "[%s] %s has the type %s, of which nothing is known here", section.Name, name, field.Type)
			keys = append(keys, fmt.Sprintf("[%s] %s: %s", section.Name, name, kind))
		}
	}
	slices.Sort(keys)
	return keys
}

// ourKeys are the keys of pkg/clouds, without those that only the in-tree provider had.
func ourKeys(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("../../pkg/clouds/openstack/testdata/openstack-keys.golden")
	require.NoError(t, err)
	var keys []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasSuffix(line, " legacy") {
			keys = append(keys, line)
		}
	}
	slices.Sort(keys)
	return keys
}

func TestWeKnowTheKeysOfTheProviderAndNoOthers(t *testing.T) {
	ours, theirs := ourKeys(t), theirKeys(t)
	for _, key := range theirs {
		if !slices.Contains(ours, key) {
			t.Errorf("the provider has %s; pkg/clouds does not", key)
		}
	}
	for _, key := range ours {
		if !slices.Contains(theirs, key) {
			t.Errorf("pkg/clouds has %s; the provider does not", key)
		}
	}
}
