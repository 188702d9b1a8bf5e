package v1_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// docs/onboarding/openshift-api.patch has the suite. An integration test runs it.
func TestEveryValidationOfOurFieldsIsInTheSuiteForOpenShiftAPI(t *testing.T) {
	content, err := os.ReadFile("testdata/StaticPodCloudControllerManager.yaml")
	require.NoError(t, err)
	var suite struct {
		Tests map[string][]struct {
			ExpectedError string `json:"expectedError"`
		} `json:"tests"`
	}
	require.NoError(t, yaml.Unmarshal(content, &suite))
	var rejections strings.Builder
	for _, tests := range suite.Tests {
		for _, test := range tests {
			rejections.WriteString(test.ExpectedError + "\n")
		}
	}
	crd := schemaOf(t, crdFile)
	spec := crd.Properties["spec"]
	ours := apiextensionsv1.JSONSchemaProps{
		XValidations: crd.XValidations,
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {
			XValidations: spec.XValidations,
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"custom": spec.Properties["custom"], "removalPolicy": spec.Properties["removalPolicy"],
			},
		}},
	}
	for _, rejection := range rejectionsOf("", ours) {
		require.Contains(t, rejections.String(), rejection)
	}
}

// rejectionsOf returns the beginning of the API server's message for each validation, except for those of lengths.
func rejectionsOf(path string, props apiextensionsv1.JSONSchemaProps) []string {
	var messages []string
	for _, rule := range props.XValidations {
		messages = append(messages, rule.Message)
	}
	if props.Enum != nil {
		messages = append(messages, path+": Unsupported value")
	}
	if props.Minimum != nil {
		messages = append(messages, path+": Invalid value")
	}
	if props.XListType != nil && *props.XListType == "map" {
		messages = append(messages, path+"[1]: Duplicate value")
	}
	for name, property := range props.Properties {
		messages = append(messages, rejectionsOf(strings.TrimPrefix(path+"."+name, "."), property)...)
	}
	if props.Items != nil {
		messages = append(messages, rejectionsOf(path+"[0]", *props.Items.Schema)...)
	}
	return messages
}
