// Package external passes on the configuration of a cloud-controller-manager that no release ships.
package external

import (
	"maps"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// Rewrite delivers the configuration and the credentials of a cloud-controller-manager that nothing is known of as they
// are, and finds only what would not reach a node as it is. No configuration is an empty file.
func Rewrite(src clouds.Source) clouds.Result {
	var fs diagnostic.List
	check := func(f diagnostic.Diagnostic, data []byte, advice string) {
		if line, column, name, found := confdoc.Placeholders(data); found {
			f.Line, f.Column, f.Kind, f.Message = line, column, diagnostic.Invalid, confdoc.PlaceholderMessage(name)+": "+advice
			fs.Add(f)
		}
	}
	check(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig}, src.Config, "write another value")
	for _, key := range slices.Sorted(maps.Keys(src.Credentials)) {
		check(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: key}, src.Credentials[key], "rotate the credential or change the value")
	}
	config := src.Config
	if config == nil {
		config = []byte{}
	}
	return clouds.Finish(fs, clouds.Result{Config: config, Credentials: src.Credentials})
}
