// Package listing reads a list of objects that others write, one object at a time. client-go's lists and its pager
// decode a whole page before its first object can be reduced, and an object has up to 1.5 MiB.
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

// Each calls item with each object of the collection at a path, as JSON, until item returns false or an error. A
// request asks for options.Limit objects, which the API server holds in memory together. Items may have no kind.
func Each(
	ctx context.Context, client rest.Interface, path string, options metav1.ListOptions,
	item func([]byte) (more bool, err error),
) error {
	// The API server ignores a limit at resource version 0.
	options.ResourceVersion = ""
	for {
		next, err := readPage(ctx, client, path, options, item)
		if err != nil || next == "" {
			return err
		}
		options.Continue = next
	}
}

func readPage(
	ctx context.Context, client rest.Interface, path string, options metav1.ListOptions,
	item func([]byte) (bool, error),
) (next string, err error) {
	body, err := client.Get().AbsPath(path).VersionedParams(&options, scheme.ParameterCodec).
		SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return "", err //nolint:wrapcheck // the caller says what it reads
	}
	defer func() { _ = body.Close() }()
	d := &decoder{Decoder: json.NewDecoder(body), item: item}
	if err := d.list(); err != nil {
		return "", fmt.Errorf("decoding a list: %w", err)
	}
	return d.next, d.err
}

type decoder struct {
	*json.Decoder

	item func([]byte) (bool, error)
	// next continues the list, and is empty at its end. err is the error of item. ended means that item wants no more.
	next  string
	err   error
	ended bool
}

func (d *decoder) list() error {
	if err := d.expect('{'); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "metadata":
			var list metav1.ListMeta
			err = d.Decode(&list)
			d.next = list.Continue
		case "items":
			err = d.items()
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil || d.ended {
			return err
		}
	}
	return d.expect('}')
}

// items reads the items. They are null in an empty list.
func (d *decoder) items() error {
	start, err := d.Token()
	if err != nil || start == nil {
		return err
	}
	for d.More() {
		// Do not reuse the buffer: the memory of a large object must be freed.
		var object json.RawMessage
		if err := d.Decode(&object); err != nil {
			return err
		}
		var more bool
		if more, d.err = d.item(object); d.err != nil || !more {
			d.next, d.ended = "", true
			return nil //nolint:nilerr // The caller returns d.err.
		}
	}
	return d.expect(']')
}

func (d *decoder) expect(want json.Delim) error {
	token, err := d.Token()
	if err == nil && token != want {
		err = fmt.Errorf("%v instead of %v", token, want)
	}
	if err == io.EOF { //nolint:errorlint // Token returns it unwrapped.
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Watch watches the collection at a path. It neither keeps nor decodes an event of more than limit bytes. client-go's
// watch copies each object three times, and a dropped object remains in memory until garbage collection.
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

// eventDecoder implements watch.Decoder. The API server writes each event as a line of JSON, in which line breaks are
// escaped. The size of the buffer is that of the largest event.
type eventDecoder struct {
	*bufio.Reader

	body    io.Closer
	example runtime.Object
}

func (d *eventDecoder) Close() { _ = d.body.Close() }

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
