package listing

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Watch watches the collection at a path, and neither keeps nor decodes an event of more than limit bytes. client-go's
// watch copies each object three times, and what was dropped is garbage until it is collected.
func Watch(
	ctx context.Context, client rest.Interface, path string, options metav1.ListOptions, limit int, example runtime.Object,
) (watch.Interface, error) {
	options.Watch = true
	body, err := client.Get().AbsPath(path).VersionedParams(&options, scheme.ParameterCodec).
		SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // the reflector distinguishes the API's errors
	}
	decoder := &eventDecoder{Reader: bufio.NewReaderSize(body, limit), body: body, example: example}
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet,
		string(metav1.CauseTypeUnexpectedServerResponse))
	return watch.NewStreamWatcher(decoder, reporter), nil
}

// eventDecoder implements watch.Decoder. The API server writes each event as a line of JSON, in which a line break of
// an object is escaped. Its buffer has the size of the longest event.
type eventDecoder struct {
	*bufio.Reader

	body    io.Closer
	example runtime.Object
}

// Close implements watch.Decoder.
func (d *eventDecoder) Close() { _ = d.body.Close() }

// Decode implements watch.Decoder.
func (d *eventDecoder) Decode() (watch.EventType, runtime.Object, error) {
	line, err := d.line()
	if err != nil {
		return "", nil, err
	}
	var event metav1.WatchEvent
	if err := json.Unmarshal(line, &event); err != nil {
		return "", nil, fmt.Errorf("decoding an event of a watch: %w", err)
	}
	object := d.example.DeepCopyObject()
	if event.Type == string(watch.Error) {
		object = &metav1.Status{}
	}
	if err := json.Unmarshal(event.Object.Raw, object); err != nil {
		return "", nil, fmt.Errorf("decoding the object of a watch: %w", err)
	}
	return watch.EventType(event.Type), object, nil
}

func (d *eventDecoder) line() ([]byte, error) {
	for tooLong := false; ; {
		line, err := d.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			tooLong = true
		case err != nil:
			return nil, err //nolint:wrapcheck // the watch tells the end of the stream by it
		case !tooLong:
			return line, nil
		default:
			tooLong = false
		}
	}
}
