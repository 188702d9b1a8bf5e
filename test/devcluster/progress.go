package devcluster

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress prefixes each line with the seconds since its start and separates lines of several goroutines. Every Write
// must be one line.
type progress struct {
	started time.Time

	mutex sync.Mutex
	out   io.Writer
}

func newProgress(out io.Writer) *progress { return &progress{started: time.Now(), out: out} }

// Write implements io.Writer.
func (p *progress) Write(line []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if _, err := fmt.Fprintf(p.out, "%6.1fs  %s", time.Since(p.started).Seconds(), line); err != nil {
		return 0, err
	}
	return len(line), nil
}
