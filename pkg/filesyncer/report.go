package filesyncer

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
)

// ReportConfigMap has a Report as JSON for each node, by the node's name.
const ReportConfigMap = "node-files"

// Report describes the files that the installer wrote to a node, as they are now. The operator installs a revision
// again that differs.
type Report struct {
	// Directory is the digest of the revision's directory, Manifest that of the static pod's manifest. A digest is ""
	// if there is no such file.
	Directory string `json:"directory"`
	Manifest  string `json:"manifest"`
}

// report writes this node's report if it differs from the stored one.
func (s *syncer) report(ctx context.Context) error {
	stored, exists, err := s.stores[object{configMaps, ReportConfigMap}].GetByKey(s.Namespace + "/" + ReportConfigMap)
	if err != nil || !exists {
		return err // the operator creates it
	}
	var current Report
	if current.Directory, err = nodefiles.DigestOf(s.RevisionDirectory); err != nil {
		return fmt.Errorf("reading the revision's directory: %w", err)
	}
	if current.Manifest, err = nodefiles.DigestOf(s.Manifest); err != nil {
		return fmt.Errorf("reading the static pod's manifest: %w", err)
	}
	text, err := json.Marshal(current)
	if err != nil {
		return err
	}
	known, _, err := unstructured.NestedString(stored.(*unstructured.Unstructured).Object, "data", s.Node)
	if err == nil && known == string(text) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{s.Node: string(text)}})
	if err != nil {
		return err
	}
	_, err = s.client(object{resource: configMaps}).Patch(ctx, ReportConfigMap, types.MergePatchType, patch,
		metav1.PatchOptions{})
	return err
}
