package extension

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	passed  = "passed"
	skipped = "skipped"
	failed  = "failed"
)

// run runs one test. A panic fails the test, not the binary.
func (t *Test) run(ctx context.Context) (result Result) {
	var out output
	began := time.Now()
	defer func() {
		ended := time.Now()
		if cause := recover(); cause != nil {
			result.Result, result.Error = failed, fmt.Sprintf("panic: %v", cause)
		}
		result.Name, result.Lifecycle = t.Name, t.Lifecycle
		result.StartTime, result.EndTime = timestamp(began), timestamp(ended)
		result.Duration = ended.Sub(began).Milliseconds()
		result.Output = out.String()
	}()
	switch err := t.Run(ctx, &out); {
	case errors.Is(err, ErrSkipped):
		fmt.Fprintln(&out, err)
		result.Result = skipped
	case err != nil:
		result.Result, result.Error = failed, err.Error()
	default:
		result.Result = passed
	}
	return result
}

// output is what a test writes, possibly from several goroutines.
type output struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.buffer.String()
}

// runAll runs tests, at most so many at once, and writes their results in the format: jsonl as they come, json in the
// end. Its error says how many blocking tests failed.
func runAll(ctx context.Context, tests []Test, most int, format string, out io.Writer) error {
	if format != "json" && format != "jsonl" {
		return fmt.Errorf("output %q: it is json or jsonl", format)
	}
	results := make(chan Result)
	go func() {
		defer close(results)
		var group sync.WaitGroup
		slots := make(chan struct{}, max(1, most))
		for _, t := range tests {
			slots <- struct{}{}
			group.Go(func() {
				defer func() { <-slots }()
				results <- t.run(ctx)
			})
		}
		group.Wait()
	}()
	all, failures := []Result{}, 0
	var errs []error
	for result := range results {
		if result.Result == failed && result.Lifecycle == Blocking {
			failures++
		}
		all = append(all, result)
		if format == "jsonl" {
			errs = append(errs, json.NewEncoder(out).Encode(result))
		}
	}
	if format == "json" {
		errs = append(errs, writeJSON(out, all))
	}
	if failures > 0 {
		errs = append(errs, fmt.Errorf("%d of %d tests failed", failures, len(all)))
	}
	return errors.Join(errs...)
}

func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
