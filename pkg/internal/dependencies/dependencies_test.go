package dependencies_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
)

type common struct{ Image string }

type options struct {
	common
	Printer  fmt.Stringer
	Mask     func(string) string
	Lease    *time.Time
	Images   map[string]string
	Informer []int
	Memory   string `optional:"without one, nothing is kept"`
	Limit    time.Duration
	secret   chan int
}

func complete() options {
	return options{
		common: common{Image: "a"}, Printer: time.Second, Mask: func(s string) string { return s },
		Lease: &time.Time{}, Images: map[string]string{"a": "b"}, Informer: []int{1}, secret: make(chan int),
	}
}

func TestOptionsWithAllDependenciesAreAccepted(t *testing.T) {
	dependencies.Require(complete(), time.Second, time.Duration(0), "a", []int{1}, func() {}, &time.Time{})
	dependencies.Require()
}

func TestAMissingDependencyIsNamed(t *testing.T) {
	var none *options
	for field, omit := range map[string]func(*options){
		"options.Printer":  func(o *options) { o.Printer = nil },
		"options.Mask":     func(o *options) { o.Mask = nil },
		"options.Lease":    func(o *options) { o.Lease = nil },
		"options.Images":   func(o *options) { o.Images = map[string]string{} },
		"options.Informer": func(o *options) { o.Informer = []int{} },
		"options.secret":   func(o *options) { o.secret = nil },
		"common.Image":     func(o *options) { o.Image = "" },
	} {
		t.Run(field, func(t *testing.T) {
			o := complete()
			omit(&o)
			require.PanicsWithValue(t, "dependencies_test."+field+" is not set", func() { dependencies.Require(o) })
		})
	}
	var missing fmt.Stringer
	for name, dependency := range map[string]any{
		"no interface": missing, "no pointer": none, "no function": (func())(nil), "no text": "", "no list": []int{},
	} {
		t.Run(name, func(t *testing.T) {
			require.PanicsWithValue(t, "dependency 1 is not set", func() { dependencies.Require(complete(), dependency) })
		})
	}
	t.Run("an interface with a nil pointer is not set", func(t *testing.T) {
		require.PanicsWithValue(t, "struct { Any interface {} }.Any is not set", func() {
			dependencies.Require(struct{ Any any }{none})
		})
	})
}
