package snapshot

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/servingcert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodedeletion"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/maskedpods"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

// requestTimeout limits a request: a person waits.
const requestTimeout = 10 * time.Second

// Query is something to read: one object, or a list if it has no name.
type Query struct {
	// What names it in messages.
	What string

	resource        schema.GroupVersionResource
	namespace, name string
	fields          string
}

// What status reads. The order is that of the requests.
var (
	// Secrets is what a Snapshot cannot tell without the right to list the Secrets of the operand's namespace.
	Secrets = "secrets in " + operand.Namespace

	statusQueries = []Query{
		{"cloudcontrollermanager/cluster", ccmv1.Resource, "", operatorclient.Instance, ""},
		{
			"clusteroperator/" + operatorclient.ClusterOperator,
			configv1.GroupVersion.WithResource("clusteroperators"), "", operatorclient.ClusterOperator, "",
		},
		{
			"infrastructure/cluster",
			configv1.GroupVersion.WithResource("infrastructures"), "", operatorclient.Instance, "",
		},
		{"nodes", core("nodes"), "", "", ""},
		{"pods in " + operand.Namespace, core("pods"), operand.Namespace, "", ""},
		{
			"lease/" + operand.Lease + " in " + operand.Namespace,
			leases, operand.Namespace, operand.Lease, "",
		},
		{
			"lease/" + OperatorLock + " in " + operatorclient.OperatorNamespace,
			leases, operatorclient.OperatorNamespace, OperatorLock, "",
		},
		{
			"configmap/" + servingcert.CAConfigMap + " in " + operand.Namespace,
			core("configmaps"), operand.Namespace, servingcert.CAConfigMap, "",
		},
		{Secrets, core("secrets"), operand.Namespace, "", ""},
	}

	leases = coordinationv1.SchemeGroupVersion.WithResource("leases")
)

// NodeEvents are the Events in which the CCM announces that it deletes a Node.
func NodeEvents() []Query {
	return []Query{{
		"events in " + nodedeletion.EventNamespace, core("events"), nodedeletion.EventNamespace, "",
		"source=" + nodedeletion.EventSource,
	}}
}

// Service is a Service and the Events about it.
func Service(namespace, name string) []Query {
	return []Query{
		{"service/" + name + " in " + namespace, core("services"), namespace, name, ""},
		{
			"events in " + namespace, core("events"), namespace, "",
			"involvedObject.kind=Service,involvedObject.name=" + name,
		},
	}
}

func core(resource string) schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource(resource)
}

// Client reads from the API of a cluster.
type Client struct {
	objects dynamic.Interface
	logs    kubernetes.Interface
	clock   *serverClock
}

// NewClient returns the client of a cluster.
func NewClient(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.Timeout, config.QPS = requestTimeout, -1
	clock := &serverClock{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return timed{next, clock} })
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	logs, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	return &Client{objects, logs, clock}, nil
}

// Read returns what status reads, and what more asks for. What the caller may not read is Unread. Any other failure is
// an error.
func (c *Client) Read(ctx context.Context, more ...Query) (*Snapshot, error) {
	s := &Snapshot{}
	var read []*unstructured.Unstructured
	for _, query := range slices.Concat(statusQueries, more) {
		objects, err := c.read(ctx, query)
		switch {
		case err == nil:
			read = append(read, objects...)
		case apierrors.IsNotFound(err):
		case apierrors.IsForbidden(err):
			s.Unread = append(s.Unread, Unread{query.What, noRight})
		default:
			return nil, fmt.Errorf("reading %s: %w", query.What, err)
		}
	}
	s.Taken = c.clock.now()
	secrets, rest := split(read)
	s.known = func(text string) string { return text }
	if s.Missing(Secrets) == "" {
		s.known = maskedpods.NewRedactor(secrets).Line
	}
	for _, object := range rest {
		messages(object, func(text string) string { return terminationmessage.Redact(s.known(text)) })
	}
	s.add(rest...)
	return s, s.addSecrets(secrets)
}

// ReadLog adds the end of the log of a pod of the operand to a snapshot, without the values of the Secrets.
func (c *Client) ReadLog(ctx context.Context, s *Snapshot, pod string) {
	text, isComplete, err := operandlog.Read(ctx, c.logs.CoreV1(), pod)
	if err != nil {
		s.Unread = append(s.Unread, Unread{logOf(pod), reason(err)})
		return
	}
	var lines strings.Builder
	for line := range strings.Lines(text) {
		lines.WriteString(s.known(strings.TrimSuffix(line, "\n")) + "\n")
	}
	s.Log = Log{Pod: pod, Text: terminationmessage.Redact(lines.String()), Complete: isComplete}
}

// logOf names the log of a pod in messages.
func logOf(pod string) string { return "log of pod/" + pod + " in " + operand.Namespace }

// reason returns why something could not be read.
func reason(err error) string {
	if apierrors.IsForbidden(err) {
		return noRight
	}
	return err.Error()
}

const noRight = "no right to read this"

func (c *Client) read(ctx context.Context, q Query) ([]*unstructured.Unstructured, error) {
	client := c.objects.Resource(q.resource).Namespace(q.namespace)
	if q.name != "" {
		object, err := client.Get(ctx, q.name, metav1.GetOptions{})
		return []*unstructured.Unstructured{object}, err
	}
	// From the API server's cache, which is cheap.
	list, err := client.List(ctx, metav1.ListOptions{ResourceVersion: "0", FieldSelector: q.fields})
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects, nil
}

// split returns the Secrets of the operand's namespace, and the other objects.
func split(objects []*unstructured.Unstructured) (secrets []*corev1.Secret, rest []*unstructured.Unstructured) {
	for _, object := range objects {
		secret := &corev1.Secret{}
		switch {
		case object.GetKind() != "Secret":
			rest = append(rest, object)
		case runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, secret) == nil:
			secrets = append(secrets, secret)
		}
	}
	return secrets, rest
}

// addSecrets keeps what is needed of the Secrets: never a secret.
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

// firstRevisions returns, for each copy of the credentials of a revision, the first of the revisions without a change
// since.
func firstRevisions(secrets []*corev1.Secret) map[string]string {
	copies := map[int]*corev1.Secret{}
	var revisions []int
	for _, secret := range secrets {
		if text, is := isCredentialsRevision(secret.Name); is {
			if revision, err := strconv.Atoi(text); err == nil {
				copies[revision], revisions = secret, append(revisions, revision)
			}
		}
	}
	slices.Sort(revisions)
	first := map[string]string{}
	since := 0
	for i, revision := range revisions {
		if i == 0 || !maps.EqualFunc(copies[revision].Data, copies[revisions[i-1]].Data, bytes.Equal) {
			since = revision
		}
		first[copies[revision].Name] = strconv.Itoa(since)
	}
	return first
}

// serverClock has the time of the API server's last response: that of this machine may be wrong.
type serverClock struct {
	mu   sync.Mutex
	time time.Time
}

func (c *serverClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time
}

type timed struct {
	http.RoundTripper

	clock *serverClock
}

// RoundTrip implements http.RoundTripper.
func (t timed) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil {
		return response, err
	}
	if at, parseErr := http.ParseTime(response.Header.Get("Date")); parseErr == nil {
		t.clock.mu.Lock()
		t.clock.time = at
		t.clock.mu.Unlock()
	}
	return response, nil
}
