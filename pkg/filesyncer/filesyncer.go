// Package filesyncer keeps directories on a node equal to ConfigMaps and Secrets whose readers reload them: the
// operand's tokens, certificates and client CAs. It runs in a container beside the operand, in its own program,
// cmd/file-syncer. It does not use the types of k8s.io/api or library-go, which would need six times the memory of
// everything else on each control-plane node.
package filesyncer

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
)

const (
	// DefaultRepairPeriod is how often the files are compared with the objects without a change.
	DefaultRepairPeriod = 30 * time.Second

	// lockTimeout limits how long to wait for an installer that writes the same directories.
	lockTimeout = 10 * time.Second

	// minRetry and maxRetry limit the time between attempts to write an object's files.
	minRetry, maxRetry = time.Second, time.Minute
)

// The resources of the objects, which are also the names of their directories.
const (
	configMaps = "configmaps"
	secrets    = "secrets"
)

// StaticPod is the pod that the syncer is a container of.
type StaticPod struct {
	// Pod is the pod that events are about, and Node its node.
	Pod, Node string
	// RevisionDirectory and Manifest are written by the installer. The syncer only reports them; see Report.
	RevisionDirectory, Manifest string
}

// Options are the options of Run. All are required.
type Options struct {
	Client    dynamic.Interface
	Namespace string
	// ConfigMaps and Secrets are the names of the objects. Their files are DIRECTORY/configmaps/NAME/KEY and
	// DIRECTORY/secrets/NAME/KEY.
	ConfigMaps, Secrets []string
	Directory           string
	StaticPod
	// RepairPeriod is how often the files are compared with the objects without a change.
	RepairPeriod time.Duration
	Clock        clock.PassiveClock
}

type object struct{ resource, name string }

func (o object) String() string {
	return map[string]string{configMaps: "configmap/", secrets: "secret/"}[o.resource] + o.name
}

type syncer struct {
	Options
	stores map[object]cache.Store
	queue  workqueue.TypedRateLimitingInterface[object]
	// written is the resource version with which the files of an object were last equal.
	written map[object]string
	// failing are the objects whose last attempt failed, with the error.
	failing map[object]error
}

// Run keeps the files up to date until the context ends. It emits one event for each change on the disk.
func Run(ctx context.Context, options Options) {
	s := &syncer{
		Options: options,
		stores:  map[object]cache.Store{},
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[object](minRetry, maxRetry)),
		written: map[object]string{},
		failing: map[object]error{},
	}
	var watches wait.Group
	watched := map[string][]string{configMaps: append([]string{ReportConfigMap}, s.ConfigMaps...), secrets: s.Secrets}
	for resource, names := range watched {
		for _, name := range names {
			informer := s.informer(ctx, object{resource, name})
			watches.StartWithContext(ctx, informer.RunWithContext)
		}
	}
	context.AfterFunc(ctx, s.queue.ShutDown)
	for s.processNext(ctx) {
	}
	watches.Wait()
}

// informer watches one object by its name, to which a role can be limited.
func (s *syncer) informer(ctx context.Context, o object) cache.Controller {
	byName := func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, o.name).String()
	}
	enqueue := func(any) { s.queue.Add(o) }
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				byName(&options)
				return s.client(o).List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				byName(&options)
				return s.client(o).Watch(ctx, options)
			},
		}, s.Client),
		ObjectType:   &unstructured.Unstructured{},
		ResyncPeriod: s.RepairPeriod,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    enqueue,
			UpdateFunc: func(_, _ any) { s.queue.Add(o) },
			DeleteFunc: func(any) {
				klog.FromContext(ctx).Info("The object was deleted; its files stay", "object", o)
			},
		},
	})
	s.stores[o] = store
	return informer
}

func (s *syncer) client(o object) dynamic.ResourceInterface {
	return s.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: o.resource}).Namespace(s.Namespace)
}

func (s *syncer) processNext(ctx context.Context) bool {
	o, shutdown := s.queue.Get()
	if shutdown {
		return false
	}
	defer s.queue.Done(o)
	err := s.sync(ctx, o)
	if err == nil || ctx.Err() != nil {
		s.queue.Forget(o)
		if s.failing[o] != nil {
			delete(s.failing, o)
			s.queue.Add(object{configMaps, ReportConfigMap})
		}
		return true
	}
	klog.FromContext(ctx).Error(err, "Trying again", "object", o)
	if former := s.failing[o]; o.name != ReportConfigMap && (former == nil || former.Error() != err.Error()) {
		s.failing[o] = err
		s.queue.Add(object{configMaps, ReportConfigMap})
		if former == nil {
			s.event(ctx, "Warning", "SyncedFilesNotWritten",
				fmt.Sprintf("Writing the files of %s on node %s: %v", o, s.Node, err))
		}
	}
	s.queue.AddRateLimited(o)
	return true
}

func (s *syncer) sync(ctx context.Context, o object) error {
	if o.name == ReportConfigMap {
		return s.report(ctx)
	}
	cached, exists, err := s.stores[o].GetByKey(s.Namespace + "/" + o.name)
	if err != nil || !exists {
		return err
	}
	files, err := filesOf(cached.(*unstructured.Unstructured))
	if err != nil {
		return err
	}
	directory := filepath.Join(s.Directory, o.resource, o.name)
	if nodefiles.DirectoryHolds(directory, files) {
		s.written[o] = cached.(*unstructured.Unstructured).GetResourceVersion()
		return nil
	}
	// The cache may be older than what an installer wrote.
	current, err := s.client(o).Get(ctx, o.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the object: %w", err)
	}
	if files, err = filesOf(current); err != nil {
		return err
	}
	replaced, err := s.replace(ctx, directory, files)
	if err != nil {
		return err
	}
	changedOnDisk := s.written[o] == current.GetResourceVersion()
	s.written[o] = current.GetResourceVersion()
	switch {
	case !replaced:
	case changedOnDisk:
		s.event(ctx, "Warning", "SyncedFilesRepaired",
			fmt.Sprintf("The files of %s on node %s were damaged, and are repaired", o, s.Node))
	default:
		s.event(ctx, "Normal", "SyncedFilesUpdated", fmt.Sprintf("Updated the files of %s on node %s", o, s.Node))
	}
	return nil
}

// replace writes the files while no installer writes them.
func (s *syncer) replace(ctx context.Context, directory string, files nodefiles.Files) (replaced bool, err error) {
	limited, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	unlock, err := nodefiles.LockDirectory(limited, s.Directory)
	if err != nil {
		return false, fmt.Errorf("an installer may be at work on this node: %w", err)
	}
	defer unlock()
	return nodefiles.ReplaceDirectory(directory, files)
}

// event emits an event about the static pod, and logs it.
func (s *syncer) event(ctx context.Context, kind, reason, message string) {
	logger := klog.FromContext(ctx)
	logger.Info(message, "reason", reason)
	now := s.Clock.Now()
	_, err := s.client(object{resource: "events"}).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]any{"name": fmt.Sprintf("%s.%x", s.Pod, now.UnixNano()), "namespace": s.Namespace},
		"involvedObject": map[string]any{"apiVersion": "v1", "kind": "Pod", "namespace": s.Namespace, "name": s.Pod},
		"type":           kind, "reason": reason, "message": message, "count": int64(1),
		"source":         map[string]any{"component": "file-syncer", "host": s.Node},
		"firstTimestamp": now.UTC().Format(time.RFC3339), "lastTimestamp": now.UTC().Format(time.RFC3339),
	}}, metav1.CreateOptions{})
	if err != nil {
		logger.Error(err, "Failed to create the event", "reason", reason)
	}
}

func filesOf(o *unstructured.Unstructured) (nodefiles.Files, error) {
	data, _, err := unstructured.NestedStringMap(o.Object, "data")
	if err != nil {
		return nil, errors.New("the object's data has values that are not strings")
	}
	files := nodefiles.Files{}
	for name, text := range data {
		if name != path.Base(name) {
			return nil, fmt.Errorf("key %q is not a file name", name)
		}
		files[name] = []byte(text)
		if o.GetKind() == "Secret" {
			if files[name], err = base64.StdEncoding.DecodeString(text); err != nil {
				return nil, fmt.Errorf("key %s is not base64", name)
			}
		}
	}
	return files, nil
}
