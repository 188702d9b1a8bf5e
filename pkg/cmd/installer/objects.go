package installer

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/openshift/library-go/pkg/operator/resource/retry"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// retryPeriod is the pause after a request that the API server did not answer.
const retryPeriod = time.Second

func (o *options) named(name string) string { return fmt.Sprintf("%s-%d", name, o.revision) }

func (o *options) readRevision(ctx context.Context) (*operand.Installed, error) {
	objects, err := o.readObjects(ctx, o.configMaps, o.secrets, o.named)
	if err != nil {
		return nil, err
	}
	return objects.Installed(o.revision)
}

// readObjects reads objects whose names full completes.
func (o *options) readObjects(
	ctx context.Context, configMaps, secrets []string, full func(string) string,
) (objects operand.Objects, err error) {
	objects.ConfigMaps, err = readAll(ctx, configMaps, full, o.Client.CoreV1().ConfigMaps(o.namespace).Get)
	if err != nil {
		return objects, err
	}
	objects.Secrets, err = readAll(ctx, secrets, full, o.Client.CoreV1().Secrets(o.namespace).Get)
	return objects, err
}

// readCerts returns the files of the objects without revisions, by the object's path below CertDir.
func (o *options) readCerts(ctx context.Context) (map[string]nodefiles.Files, error) {
	asIs := func(name string) string { return name }
	objects, err := o.readObjects(ctx, o.certConfigMaps, o.certSecrets, asIs)
	if err != nil {
		return nil, err
	}
	certs := map[string]nodefiles.Files{}
	for _, object := range objects.ConfigMaps {
		files := nodefiles.Files{}
		for name, text := range object.Data {
			files[name] = []byte(text)
		}
		certs[path.Join("configmaps", object.Name)] = files
	}
	for _, object := range objects.Secrets {
		certs[path.Join("secrets", object.Name)] = object.Data
	}
	return certs, nil
}

func readAll[T any](
	ctx context.Context, names []string, full func(string) string,
	get func(context.Context, string, metav1.GetOptions) (T, error),
) ([]T, error) {
	var objects []T
	for _, name := range names {
		object, err := read(ctx, func(ctx context.Context) (T, error) { return get(ctx, full(name), metav1.GetOptions{}) })
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", full(name), err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// read retries a request until the API server answers it with something other than overload.
func read[T any](ctx context.Context, request func(context.Context) (T, error)) (answer T, err error) {
	var last error
	err = wait.PollUntilContextCancel(ctx, retryPeriod, true, func(ctx context.Context) (bool, error) {
		answer, last = request(ctx)
		if last != nil && (apierrors.IsTooManyRequests(last) || !retry.IsHTTPClientError(last)) {
			klog.V(2).ErrorS(last, "Trying again")
			return false, nil
		}
		return true, last
	})
	if err != nil && last != nil {
		err = last
	}
	return answer, err
}
