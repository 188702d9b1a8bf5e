package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/listing"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/loadbalancer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodedeletion"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/maskedpods"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

const (
	// requestTimeout limits a request if the configuration does not: a user waits.
	requestTimeout = 10 * time.Second

	// page is the number of objects in a response. The API server holds them in memory together.
	page = 100

	// maxKept limits the size of a list in memory. An Event or a Service has 1 to 2 KiB.
	maxKept = 64 << 20
)

// Query is something to read: one object, or a list if it has no name.
type Query struct {
	// What is its name in messages.
	What string

	kind            schema.GroupVersionKind
	namespace, name string
	fields          string
}

// The queries of status, in order. The Secrets are first, because their values are removed from the other objects.
var (
	// Secrets is the Query.What of the Secrets, which need a right that not every user has.
	Secrets = "secrets in " + operand.Namespace

	statusQueries = []Query{
		{Secrets, core("Secret"), operand.Namespace, "", ""},
		single(ccmv1.Kind, "", operatorclient.Instance),
		single(configv1.GroupVersion.WithKind("ClusterOperator"), "", operatorclient.ClusterOperator),
		single(configv1.GroupVersion.WithKind("Infrastructure"), "", operatorclient.Instance),
		{"nodes", core("Node"), "", "", ""},
		{"pods in " + operand.Namespace, core("Pod"), operand.Namespace, "", ""},
		single(lease, operand.Namespace, operand.Lease),
		single(lease, operatorclient.OperatorNamespace, OperatorLock),
		single(core("ConfigMap"), operand.Namespace, operand.ServingCAConfigMap),
	}

	lease = coordinationv1.SchemeGroupVersion.WithKind("Lease")
)

// single reads one object.
func single(kind schema.GroupVersionKind, namespace, name string) Query {
	what := operatorclient.ObjectName(strings.ToLower(kind.Kind), namespace, name)
	return Query{What: what, kind: kind, namespace: namespace, name: name}
}

// NodeEvents reads the Events in which the CCM announces that it deletes a Node.
func NodeEvents() []Query {
	return []Query{{
		"events in " + nodedeletion.EventNamespace, core("Event"), nodedeletion.EventNamespace, "",
		"source=" + nodedeletion.EventSource,
	}}
}

// warnings selects the Events for loadbalancer.LastWarning.
const warnings = "involvedObject.kind=Service,source=" + loadbalancer.EventSource + ",type=" + corev1.EventTypeWarning

// Service reads a Service and the Events about it.
func Service(namespace, name string) []Query {
	return []Query{
		single(core("Service"), namespace, name),
		{"events in " + namespace, core("Event"), namespace, "", "involvedObject.name=" + name + "," + warnings},
	}
}

func core(kind string) schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind(kind) }

func (q Query) resource() schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(q.kind)
	return resource
}

// Client reads from the API of a cluster.
type Client struct {
	Objects dynamic.Interface
	kube    kubernetes.Interface
	// time is the time of the API server's last response.
	time    *atomic.Pointer[time.Time]
	maxKept int
}

// NewClient returns the client of a cluster.
func NewClient(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.Timeout, config.QPS = cmp.Or(config.Timeout, requestTimeout), -1
	last := &atomic.Pointer[time.Time]{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return timed{next, last} })
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	return &Client{objects, kube, last, maxKept}, nil
}

// Read returns what status needs, what more asks for, and the end of the log of the pod that choose returns. choose may
// be nil. What the caller may not read becomes Unread. Any other failure is an error.
func (c *Client) Read(ctx context.Context, choose func(*Snapshot) string, more ...Query) (*Snapshot, error) {
	s, err := c.readObjects(ctx, more)
	if err != nil || choose == nil {
		return s, err
	}
	if pod := choose(s); pod != "" {
		c.readLog(ctx, s, pod)
	}
	return s, nil
}

func (c *Client) readObjects(ctx context.Context, more []Query) (*Snapshot, error) {
	s := &Snapshot{redactor: redaction.ForText(nil)}
	var secrets []*corev1.Secret
	for _, query := range slices.Concat(statusQueries, more) {
		left := c.maxKept
		err := c.read(ctx, query, func(object *unstructured.Unstructured) (more bool) {
			if object.GetKind() != "Secret" {
				left -= s.addMasked(object)
				return left > 0
			}
			secret := &corev1.Secret{}
			if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, secret) == nil {
				secrets = append(secrets, secret)
			}
			return true
		})
		if left <= 0 {
			s.Unread = append(s.Unread, Unread{query.What, fmt.Sprintf("only the first %d KiB were read", c.maxKept>>10)})
		}
		switch {
		case err == nil && query.What == Secrets:
			s.redactor = maskedpods.NewRedactor(secrets)
		case err == nil, apierrors.IsNotFound(err):
		case apierrors.IsForbidden(err):
			s.Unread = append(s.Unread, Unread{query.What, noRight})
		default:
			return nil, fmt.Errorf("reading %s: %w", query.What, err)
		}
	}
	s.Taken = ptr.Deref(c.time.Load(), time.Time{})
	return s, s.addSecrets(secrets)
}

func (s *Snapshot) addMasked(object *unstructured.Unstructured) int {
	kept := reduce(object)
	if kept == nil {
		return 0
	}
	omitLong(kept.Object)
	messages(kept, s.redactor.Text)
	s.objects = append(s.objects, kept)
	content, _ := json.Marshal(kept.Object)
	return len(content)
}

func (c *Client) readLog(ctx context.Context, s *Snapshot, pod string) {
	text, isComplete, err := operandlog.Read(ctx, c.kube.CoreV1(), pod)
	if apierrors.IsForbidden(err) {
		err = errors.New(noRight)
	}
	if err != nil {
		s.Unread = append(s.Unread, Unread{logOf(pod), err.Error()})
		return
	}
	s.Log = Log{Pod: pod, Text: s.redactor.Text(text), Complete: isComplete}
}

func logOf(pod string) string { return "log of pod/" + pod + " in " + operand.Namespace }

const noRight = "no right to read this"

// read calls add with each object as it is decoded, because every tenant can write many large Services and Events.
func (c *Client) read(ctx context.Context, q Query, add func(*unstructured.Unstructured) (more bool)) error {
	if q.name != "" {
		object, err := c.Objects.Resource(q.resource()).Namespace(q.namespace).Get(ctx, q.name, metav1.GetOptions{})
		if err == nil {
			add(object)
		}
		return err //nolint:wrapcheck // the caller says what it reads
	}
	options := metav1.ListOptions{FieldSelector: q.fields, Limit: page}
	return listing.Each(ctx, c.kube.CoreV1().RESTClient(), q.path(), options, func(raw []byte) (bool, error) {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(raw, &object.Object); err != nil {
			return false, fmt.Errorf("decoding an object: %w", err)
		}
		object.SetGroupVersionKind(q.kind)
		return add(object), nil
	})
}

func (q Query) path() string {
	path := "/apis/" + q.kind.GroupVersion().String()
	if q.kind.Group == "" {
		path = "/api/" + q.kind.Version
	}
	if q.namespace != "" {
		path += "/namespaces/" + q.namespace
	}
	return path + "/" + q.resource().Resource
}

func (s *Snapshot) addSecrets(secrets []*corev1.Secret) error {
	first := firstRevisions(secrets)
	for _, secret := range secrets {
		if secret.Name == operand.AcceptedInputsSecret {
			var err error
			if secret, err = inputs.WithoutContent(secret); err != nil {
				return err
			}
		}
		if revision := first[secret.Name]; revision != "" {
			secret = secret.DeepCopy()
			metav1.SetMetaDataAnnotation(&secret.ObjectMeta, VersionAnnotation, revision)
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret)
		if err != nil {
			return fmt.Errorf("secret/%s in %s: %w", secret.Name, secret.Namespace, err)
		}
		s.add(&unstructured.Unstructured{Object: content})
	}
	s.sort()
	return nil
}

// firstRevisions returns, for each revision's credentials, the first revision since which they are the same.
func firstRevisions(secrets []*corev1.Secret) map[string]string {
	copies := map[int]*corev1.Secret{}
	for _, secret := range secrets {
		text, isCopy := strings.CutPrefix(secret.Name, operand.CloudCredentialsSecret+"-")
		if revision, err := strconv.Atoi(text); isCopy && err == nil {
			copies[revision] = secret
		}
	}
	first, since := map[string]string{}, 0
	revisions := slices.Sorted(maps.Keys(copies))
	for i, revision := range revisions {
		if i == 0 || !maps.EqualFunc(copies[revision].Data, copies[revisions[i-1]].Data, bytes.Equal) {
			since = revision
		}
		first[copies[revision].Name] = strconv.Itoa(since)
	}
	return first
}

// timed records the time of the API server's last response, because this machine's clock may be wrong.
type timed struct {
	http.RoundTripper

	last *atomic.Pointer[time.Time]
}

func (t timed) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil {
		return response, err
	}
	if at, parseErr := http.ParseTime(response.Header.Get("Date")); parseErr == nil {
		t.last.Store(&at)
	}
	return response, nil
}
