package customccm

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	staticpodv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// MaxBytes limits the data of one ConfigMap or Secret: the API server's 1 MiB less 16 KiB for the metadata.
const MaxBytes = 1<<20 - 16<<10

// Secrets is the data of the Secrets in spec.custom.
type Secrets struct {
	// ReadOnce contains the keys of the Secrets with delivery ReadOnce: the operand's credentials.
	ReadOnce map[string][]byte

	// Sources maps each key in ReadOnce to its Secret.
	Sources map[string]string

	// Reloaded contains the keys of the Secrets with delivery Reloaded. Only the names of the keys are part of the
	// candidate; their data is in the Secret cloud-tokens. A phase that delivers files delivers the data too.
	Reloaded map[string][]byte

	// Diagnostics are the errors for which the Secrets are rejected. If there are any, neither ReadOnce nor Reloaded
	// replaces the previously delivered data.
	Diagnostics []diagnostic.Diagnostic

	// Missing are the Secrets that do not exist. Diagnostics contains an error for each.
	Missing []string
}

// Gather reads the Secrets of spec.custom and merges those with the same delivery. spec may be nil. isReserved reports
// whether the operator uses a name itself. get returns a Secret's data, nil if it does not exist, and its name for
// messages.
func Gather(
	spec *operatorv1.CustomCloudControllerManager, isReserved func(name string) bool,
	get func(name string) (source string, data map[string][]byte, err error),
) (Secrets, error) {
	s := Secrets{ReadOnce: map[string][]byte{}, Sources: map[string]string{}, Reloaded: map[string][]byte{}}
	if spec == nil {
		return s, nil
	}
	reloadedSources := map[string]string{}
	for _, wanted := range spec.Secrets {
		if isReserved(wanted.Name) {
			s.Diagnostics = append(s.Diagnostics, newDiagnostic(at("secrets[%s]", wanted.Name),
				"the operator uses this name; put the keys into a Secret with another name"))
			continue
		}
		source, data, err := get(wanted.Name)
		if err != nil {
			return Secrets{}, err
		}
		if wanted.Delivery == operatorv1.CustomCloudControllerManagerSecretDeliveryReloaded {
			s.add(source, data, s.Reloaded, reloadedSources)
		} else {
			s.add(source, data, s.ReadOnce, s.Sources)
		}
	}
	s.checkSize(operatorv1.CustomCloudControllerManagerSecretDeliveryReadOnce, s.ReadOnce)
	s.checkSize(operatorv1.CustomCloudControllerManagerSecretDeliveryReloaded, s.Reloaded)
	slices.SortStableFunc(s.Diagnostics, func(a, b diagnostic.Diagnostic) int {
		return strings.Compare(string(a.Cause), string(b.Cause))
	})
	return s, nil
}

func (s *Secrets) add(source string, data, into map[string][]byte, sources map[string]string) {
	d := diagnostic.Diagnostic{Cause: diagnostic.Credentials, Object: source}
	const named = "spec.custom.secrets of cloudcontrollermanager/cluster"
	switch {
	case data == nil:
		s.Missing = append(s.Missing, source)
		d.Message = "it does not exist, but " + named + " names it; create it, or remove it from the list"
		s.Diagnostics = append(s.Diagnostics, d)
	case len(data) == 0:
		d.Message = "it has no keys, so no file is delivered; add a key, or remove the Secret from " + named
		s.Diagnostics = append(s.Diagnostics, d)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if other, taken := sources[key]; taken {
			d.Key = key
			d.Message = other + " also has this key with the same delivery; rename the key in one of them"
			s.Diagnostics = append(s.Diagnostics, d)
			continue
		}
		into[key], sources[key] = bytes.Clone(data[key]), source
	}
}

func (s *Secrets) checkSize(delivery operatorv1.CustomCloudControllerManagerSecretDelivery, data map[string][]byte) {
	size := 0
	for key, value := range data {
		size += len(key) + len(value)
	}
	if size > MaxBytes {
		s.Diagnostics = append(s.Diagnostics, diagnostic.Diagnostic{
			Cause: diagnostic.Credentials, Object: Object, Key: at("secrets"),
			Message: fmt.Sprintf("the Secrets with delivery %s have %d bytes in total; the limit is %d; "+
				"remove some keys", delivery, size, MaxBytes),
		})
	}
}

// ReloadedAnnotation on the pod ConfigMap contains the comma-separated keys of Secrets.Reloaded, or is empty. The pod
// may still read them from the Secret cloud-tokens after spec.custom no longer names them.
const ReloadedAnnotation = "cloud-controller-manager.openshift.io/reloaded-secrets"

// AnnotationOf returns the value of ReloadedAnnotation.
func AnnotationOf(reloaded map[string][]byte) string {
	return strings.Join(slices.Sorted(maps.Keys(reloaded)), ",")
}

// ReloadedBy returns the keys in ReloadedAnnotation of a pod ConfigMap.
func ReloadedBy(podConfigMap *corev1.ConfigMap) []string {
	return strings.FieldsFunc(podConfigMap.Annotations[ReloadedAnnotation], func(r rune) bool { return r == ',' })
}

// ReloadedByPods returns the reloaded keys of every pod that may run: of the candidate's pod, and of the pods of the
// revisions that are, or are being, installed on a node. configMaps are those of the operand's namespace; candidate is
// the name of the pod ConfigMap.
func ReloadedByPods(candidate string, configMaps []*corev1.ConfigMap, nodes []staticpodv1.NodeStatus) []string {
	byName := map[string]*corev1.ConfigMap{}
	for _, configMap := range configMaps {
		byName[configMap.Name] = configMap
	}
	current, keys := byName[candidate], sets.New[string]()
	if current != nil {
		keys.Insert(ReloadedBy(current)...)
	}
	for _, node := range nodes {
		for _, revision := range []int32{node.CurrentRevision, node.TargetRevision} {
			copied := byName[fmt.Sprintf("%s-%d", candidate, revision)]
			if copied != nil && (current == nil || !maps.Equal(copied.Data, current.Data)) {
				keys.Insert(ReloadedBy(copied)...)
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
