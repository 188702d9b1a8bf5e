// Package maskedpods keeps the values of credentials out of whatever the operator quotes of a container: the error with
// which a cloud-controller-manager ended may contain the request that failed, or a part of its configuration.
//
// Its Pods have no secret of the operand's namespace in their messages. A pattern finds only known
// spellings of a secret; the operator knows the values.
package maskedpods

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

// NewInformers returns the informers of the operand's namespace whose listers of Pods mask the values of its Secrets.
func NewInformers(target informers.SharedInformerFactory) *Informers {
	secrets := target.Core().V1().Secrets()
	return &Informers{target, &mask{secrets: secrets.Lister(), synced: secrets.Informer().HasSynced}}
}

// Informers are those of the operand's namespace.
type Informers struct {
	informers.SharedInformerFactory

	mask *mask
}

// Mask returns a text, such as a line of a container's log, without the values of the Secrets. It is empty until the
// Secrets are known.
func (f *Informers) Mask(text string) (string, error) {
	redactor, err := f.mask.current()
	if err != nil {
		return "", err
	}
	return redactor(text), nil
}

// mask removes the values of the Secrets from text.
type mask struct {
	secrets corev1listers.SecretLister
	synced  func() bool

	mu sync.Mutex
	// redactor was made from Secrets of these versions.
	redactor *redaction.Redactor
	versions string
}

// maxMessage limits a message of a pod. A kubelet keeps 4 KiB of a termination message, and can write more.
const maxMessage = 8192

// pod returns the pod without secrets in its messages. It does not change the pod, which is a cache's. Before the
// Secrets are known, there are no messages.
func (m *mask) pod(pod *corev1.Pod) (*corev1.Pod, error) {
	if pod == nil || !slices.ContainsFunc(messages(pod), func(text *string) bool { return *text != "" }) {
		return pod, nil
	}
	redactor, err := m.current()
	if err != nil {
		return nil, err
	}
	pod = pod.DeepCopy()
	for _, text := range messages(pod) {
		*text = printable.Cut(redactor(*text), maxMessage) // Cutting first could leave a part of a secret.
	}
	return pod, nil
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

// withoutSecrets are the keys of Secrets that have no secret, but words under the name of one: the records of accepted
// inputs name objects under "credentials", and the pod of a preflight has paths under "secret".
var withoutSecrets = map[string]string{
	operand.AcceptedInputsSecret: operand.AcceptedRecordsKey,
	operand.PreflightName:        operand.PreflightPodKey,
}

// NewRedactor returns the redactor of the Secrets of the operand's namespace: a CCM may still run with the credentials
// of an earlier revision. Of credentials every value is a secret, except for names and addresses. Of another Secret,
// those under the name of a secret are.
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

// The types below replace the listers of Pods and nothing else.
type (
	group struct {
		core.Interface

		mask *mask
	}
	version struct {
		corev1informers.Interface

		mask *mask
	}
	informer struct {
		corev1informers.PodInformer

		mask *mask
	}
	lister struct {
		corev1listers.PodLister

		mask *mask
	}
	namespaceLister struct {
		corev1listers.PodNamespaceLister

		mask *mask
	}
	// sharedInformer is synced once the Secrets are, so that no controller starts with less than them.
	sharedInformer struct {
		cache.SharedIndexInformer

		mask *mask
	}
)

// Core implements informers.SharedInformerFactory.
func (f *Informers) Core() core.Interface { return group{f.SharedInformerFactory.Core(), f.mask} }

func (g group) V1() corev1informers.Interface { return version{g.Interface.V1(), g.mask} }

func (v version) Pods() corev1informers.PodInformer { return informer{v.Interface.Pods(), v.mask} }

func (i informer) Informer() cache.SharedIndexInformer {
	return sharedInformer{i.PodInformer.Informer(), i.mask}
}

func (i informer) Lister() corev1listers.PodLister { return lister{i.PodInformer.Lister(), i.mask} }

func (s sharedInformer) HasSynced() bool { return s.SharedIndexInformer.HasSynced() && s.mask.synced() }

func (l lister) List(selector labels.Selector) ([]*corev1.Pod, error) {
	pods, err := l.PodLister.List(selector)
	return l.mask.pods(pods, err)
}

func (l lister) Pods(namespace string) corev1listers.PodNamespaceLister {
	return namespaceLister{l.PodLister.Pods(namespace), l.mask}
}

func (l namespaceLister) List(selector labels.Selector) ([]*corev1.Pod, error) {
	pods, err := l.PodNamespaceLister.List(selector)
	return l.mask.pods(pods, err)
}

func (l namespaceLister) Get(name string) (*corev1.Pod, error) {
	pod, err := l.PodNamespaceLister.Get(name)
	if err != nil {
		return nil, err
	}
	return l.mask.pod(pod)
}

func (m *mask) pods(pods []*corev1.Pod, err error) ([]*corev1.Pod, error) {
	if err != nil {
		return nil, err
	}
	masked := make([]*corev1.Pod, len(pods))
	for i := range pods {
		if masked[i], err = m.pod(pods[i]); err != nil {
			return nil, err
		}
	}
	return masked, nil
}
