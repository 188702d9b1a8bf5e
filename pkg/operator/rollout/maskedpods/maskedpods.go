// Package maskedpods removes the values of credentials from what the operator quotes of a container: the error with
// which a cloud-controller-manager ended may contain the request that failed, or a part of its configuration.
//
// The messages of its Pods have no secret of the operand's namespace. A pattern would find only known spellings of a
// secret; the operator knows the values.
package maskedpods

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/listerview"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

// NewInformers returns the informers of the operand's namespace. The listers of its Pods, which tweak selects, mask the
// values of its Secrets. target must not have an informer of Pods yet.
func NewInformers(target informers.SharedInformerFactory, tweak func(*metav1.ListOptions)) *Informers {
	secrets := target.Core().V1().Secrets()
	m := &mask{secrets: secrets.Lister(), synced: secrets.Informer().HasSynced}
	masked := func(kube kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return &listerview.Informer[*corev1.Pod]{
			SharedIndexInformer: corev1informers.NewFilteredPodInformer(kube, operand.Namespace, resync,
				cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, tweak),
			View: m.pods, Synced: m.synced, // No controller starts with less than the Secrets.
		}
	}
	if _, isMasked := target.InformerFor(&corev1.Pod{}, masked).(*listerview.Informer[*corev1.Pod]); !isMasked {
		panic("the factory has an informer of Pods whose listers show secrets")
	}
	return &Informers{target, m}
}

// Informers are those of the operand's namespace.
type Informers struct {
	informers.SharedInformerFactory

	mask *mask
}

// Mask returns a text, such as a line of a log, without the values of the Secrets, "" until these are known.
func (f *Informers) Mask(text string) (string, error) {
	redactor, err := f.mask.current()
	if err != nil {
		return "", err
	}
	return redactor(text), nil
}

type mask struct {
	secrets corev1listers.SecretLister
	synced  func() bool

	mu sync.Mutex
	// redactor is that of the Secrets of these versions.
	redactor *redaction.Redactor
	versions string
}

// maxMessage limits a message of a pod, in bytes. A kubelet keeps 4 KiB of a termination message, and can write more.
const maxMessage = 8192

// pods masks the messages of pods, in copies because the pods are a cache's. Without the Secrets, it removes them.
func (m *mask) pods(pods []*corev1.Pod) []*corev1.Pod {
	for i, pod := range pods {
		if !slices.ContainsFunc(messages(pod), func(text *string) bool { return *text != "" }) {
			continue
		}
		redactor, err := m.current()
		pods[i] = pod.DeepCopy()
		for _, text := range messages(pods[i]) {
			if err != nil {
				*text = ""
				continue
			}
			*text = printable.Cut(redactor(*text), maxMessage) // Cutting first could leave a part of a secret.
		}
	}
	return pods
}

// messages returns the texts of a pod's status that may quote a container or its log.
func messages(pod *corev1.Pod) []*string {
	texts := []*string{&pod.Status.Message}
	status := &pod.Status
	for _, statuses := range [][]corev1.ContainerStatus{
		status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			for _, state := range []*corev1.ContainerState{&statuses[i].State, &statuses[i].LastTerminationState} {
				if state.Terminated != nil {
					texts = append(texts, &state.Terminated.Message)
				}
				if state.Waiting != nil {
					texts = append(texts, &state.Waiting.Message)
				}
			}
		}
	}
	return texts
}

func (m *mask) current() (func(string) string, error) {
	if !m.synced() {
		return func(string) string { return "" }, nil
	}
	secrets, err := operatorclient.All(m.secrets.Secrets(operand.Namespace), "the Secrets in "+operand.Namespace)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(secrets, func(a, b *corev1.Secret) int { return strings.Compare(a.Name, b.Name) })
	var versions strings.Builder
	for _, secret := range secrets {
		fmt.Fprintf(&versions, "%s %s %s\n", secret.Name, secret.UID, secret.ResourceVersion)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.redactor == nil || m.versions != versions.String() {
		m.redactor, m.versions = NewRedactor(secrets), versions.String()
	}
	return m.redactor.Line, nil
}

// withoutSecrets are the keys of Secrets with words under the name of a secret: the records of accepted inputs name
// objects under "credentials", and the pod of a preflight has paths under "secret".
var withoutSecrets = map[string]string{
	operand.AcceptedInputsSecret: operand.AcceptedRecordsKey,
	operand.PreflightName:        operand.PreflightPodKey,
}

// NewRedactor returns the redactor of all Secrets of the operand's namespace: a CCM may still run with the credentials
// of an earlier revision. Every value of credentials is a secret, except for names and addresses. In other Secrets,
// only the values under the name of a secret are.
func NewRedactor(secrets []*corev1.Secret) *redaction.Redactor {
	var values []redaction.Named
	var documents [][]byte
	for _, secret := range secrets {
		areCredentials := strings.HasPrefix(secret.Name, operand.CloudCredentialsSecret)
		for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
			if withoutSecrets[secret.Name] == key {
				continue
			}
			documents = append(documents, secret.Data[key])
			if areCredentials && !redaction.IsPlainName(key) || redaction.IsSecretName(key) {
				values = append(values, redaction.Named{Name: key, Value: secret.Data[key]})
			}
		}
	}
	return redaction.ForText(values, documents...)
}
