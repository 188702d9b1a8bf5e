package operatorclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type versionKey struct{}

// AtVersion returns a context in which an apply is a conflict unless the resource has this version. library-go's client
// applies with force, so a stale cache would overwrite what another controller has applied since.
func AtVersion(ctx context.Context, version string) context.Context {
	return context.WithValue(ctx, versionKey{}, version)
}

// Version returns the version of AtVersion in the context, or "".
func Version(ctx context.Context) string {
	version, _ := ctx.Value(versionKey{}).(string)
	return version
}

// asserting adds the version of AtVersion to the applied object, which library-go's client builds itself. The API
// server rejects the apply if the stored object has another version.
type asserting struct{ http.RoundTripper }

func (a asserting) RoundTrip(request *http.Request) (*http.Response, error) {
	version := Version(request.Context())
	if version == "" || request.Method != http.MethodPatch {
		return a.RoundTripper.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the applied status: %w", err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(body); err != nil {
		return nil, fmt.Errorf("reading the applied status: %w", err)
	}
	object.SetResourceVersion(version)
	if body, err = object.MarshalJSON(); err != nil {
		return nil, fmt.Errorf("writing the applied status: %w", err)
	}
	request = request.Clone(request.Context())
	request.ContentLength = int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	request.Body, _ = request.GetBody()
	return a.RoundTripper.RoundTrip(request)
}
