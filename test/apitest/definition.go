package apitest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

// definition is the CustomResourceDefinition of the operator's resource: the API server's own code merges what is
// applied, keeps the managed fields, and evaluates the rules.
type definition struct {
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
	rules    *cel.Validator
	schema   *structuralschema.Structural
	// managers are by the subresource.
	managers map[string]*managedfields.FieldManager
}

// operatorDefinition returns the definition of the manifests.
var operatorDefinition = sync.OnceValues(func() (*definition, error) {
	file, err := manifestFile("*_01_cloudcontrollermanagers.crd.yaml")
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &crd); err != nil {
		return nil, err
	}
	return newDefinition(&crd)
})

// manifestFile returns the manifest that matches the pattern, wherever in the repository the test runs.
func manifestFile(pattern string) (string, error) {
	directory, err := os.Getwd()
	for ; err == nil && directory != "/"; directory = filepath.Dir(directory) {
		if found, _ := filepath.Glob(filepath.Join(directory, "manifests", pattern)); len(found) == 1 {
			return found[0], nil
		}
	}
	return "", errors.Join(err, fmt.Errorf("there is no manifests/%s above", pattern))
}

func newDefinition(crd *apiextensionsv1.CustomResourceDefinition) (*definition, error) {
	version := crd.Spec.Versions[0]
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		version.Schema.OpenAPIV3Schema, internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, err
	}
	group := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
	d := &definition{
		resource: group.WithResource(crd.Spec.Names.Plural), kind: group.WithKind(crd.Spec.Names.Kind), schema: structural,
		rules:    cel.NewValidator(structural, true, celconfig.PerCallLimit),
		managers: map[string]*managedfields.FieldManager{},
	}
	typed, err := typesOf(structural, d.kind)
	if err != nil {
		return nil, err
	}
	for _, subresource := range []string{"", "status"} {
		d.managers[subresource], err = managedfields.NewDefaultCRDFieldManager(
			typed, converter{}, converter{}, converter{}, d.kind, group, subresource, nil)
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// typesOf returns the schema for the merge. Nobody applies metadata, so they have none.
func typesOf(
	structural *structuralschema.Structural, kind schema.GroupVersionKind,
) (managedfields.TypeConverter, error) {
	openAPI := structural.ToKubeOpenAPI()
	openAPI.Properties["metadata"] = spec.Schema{VendorExtensible: spec.VendorExtensible{
		Extensions: spec.Extensions{"x-kubernetes-preserve-unknown-fields": true}},
		SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	for _, name := range []string{"apiVersion", "kind"} {
		openAPI.Properties[name] = spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}}}
	}
	openAPI.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{
		"group": kind.Group, "version": kind.Version, "kind": kind.Kind,
	}})
	return managedfields.NewTypeConverter(map[string]*spec.Schema{kind.Kind: openAPI}, false)
}

// converter is what the field manager needs of a scheme for a resource with one version and no defaults.
type converter struct{}

func (converter) Convert(_, _, _ any) error { return errors.New("there is one version") }

func (converter) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (converter) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (converter) Default(runtime.Object) {}

func (converter) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// validate evaluates the rules of the definition.
func (d *definition) validate(before, after Object) error {
	errs, _ := d.rules.Validate(context.Background(), nil, d.schema, after, before, celconfig.RuntimeCELCostBudget)
	return errs.ToAggregate()
}

// updated returns a changed version with its managed fields, or an error if the rules forbid it.
func (d *definition) updated(before, after Object, user, subresource string) (Object, error) {
	manager := d.managers[subresource]
	if manager == nil {
		manager = d.managers[""]
	}
	live := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(before)}
	changed := manager.UpdateNoErrors(live, &unstructured.Unstructured{Object: after}, user)
	u, isObject := changed.(*unstructured.Unstructured)
	if !isObject {
		return nil, fmt.Errorf("unexpected %T", changed)
	}
	normalize(u.Object)
	return u.Object, d.validate(before, u.Object)
}

// apply serves a server-side apply.
func (w *write) apply() answer {
	if w.resource != w.definition.resource || w.existing == nil {
		return w.fail(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"only the operator's resource can be applied, once it exists")
	}
	applied, err := decode(w.body)
	if err != nil {
		return w.fail(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	if why := w.conflict(applied); why != "" {
		return w.failConflict(why)
	}
	before := w.existing.object
	query := w.request.Query
	merged, err := w.definition.managers[w.subresource].Apply(
		&unstructured.Unstructured{Object: runtime.DeepCopyJSON(before)}, &unstructured.Unstructured{Object: applied},
		query.Get("fieldManager"), query.Get("force") == "true")
	if err != nil {
		return w.fail(http.StatusConflict, metav1.StatusReasonConflict, err.Error())
	}
	after, isObject := merged.(*unstructured.Unstructured)
	if !isObject {
		return w.fail(http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprintf("unexpected %T", merged))
	}
	normalize(after.Object)
	if err := w.definition.validate(before, after.Object); err != nil {
		return w.fail(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
	}
	if a, refused := w.admit(after.Object); refused {
		return a
	}
	return w.store(after.Object, "apply "+query.Get("fieldManager"))
}
