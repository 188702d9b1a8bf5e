// Command bench measures the operator in a cluster: its memory, requests and CPU while idle, the time until it applies
// its first object, and what happens on the nodes, that is the start, a rollout and the ends of leaders. It prints rows
// of a Markdown table, and timelines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The parts in the order of measurement.
const (
	partFirst   = "first"
	partMemory  = "memory"
	partIdle    = "idle"
	partRollout = "rollout"
	partScale   = "scale"
	partNodes   = "nodes"
	partMany    = "many"
	partForged  = "forged"
)

var allParts = []string{partFirst, partMemory, partIdle, partRollout, partScale, partNodes, partMany, partForged}

// options select the parts and their size.
type options struct {
	parts []string
	idle  time.Duration
	// scale has the numbers of objects of the part scale.
	scale scale
	// rushes are the numbers of Nodes that register at once in the part many.
	rushes []int
	// overrides are spec.unsupportedConfigOverrides in the part many.
	overrides string
	progress  io.Writer
	out       io.Writer
}

func main() {
	o := options{progress: os.Stderr, out: os.Stdout}
	parts := flag.String("parts", strings.Join(allParts, " "), "what to measure")
	flag.DurationVar(&o.idle, "idle", 10*time.Minute, "how long the operator is watched while nothing happens")
	flag.IntVar(&o.scale.nodes, "nodes", 15000, "number of Nodes for the part "+partScale)
	flag.IntVar(&o.scale.configMaps, "configmaps", 20000, "number of foreign ConfigMaps for the part "+partScale)
	flag.IntVar(&o.scale.services, "services", 10000, "number of Services with a load balancer for the part "+partScale)
	flag.IntVar(&o.scale.events, "events", 50000, "number of foreign Events for the part "+partScale)
	rushes := flag.String("rushes", "50 200 1000", "numbers of Nodes that register at once for the part "+partMany)
	flag.StringVar(&o.overrides, "overrides", "", "spec.unsupportedConfigOverrides as JSON for the part "+partMany)
	flag.Parse()
	o.parts = strings.Fields(*parts)
	var err error
	if o.rushes, err = numbers(*rushes); err != nil {
		fmt.Fprintln(os.Stderr, "error: --rushes:", err)
		os.Exit(1)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	err = run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	for _, part := range o.parts {
		if !slices.Contains(allParts, part) {
			return fmt.Errorf("--parts: there is no part %q, only %s", part, strings.Join(allParts, ", "))
		}
	}
	var errs []error
	if o.measures(partFirst) {
		errs = append(errs, measureFirst(ctx, o))
	}
	if o.measures(partMemory, partIdle, partRollout) {
		errs = append(errs, measureCluster(ctx, o))
	}
	if o.measures(partScale) {
		errs = append(errs, measureBeside(ctx, o, func(s *starter, pid int) error { return s.measureScale(ctx, o, pid) }))
	}
	if o.measures(partForged) {
		errs = append(errs, measureBeside(ctx, o, func(s *starter, pid int) error { return s.measureForged(ctx, o, pid) }))
	}
	if o.measures(partNodes) {
		errs = append(errs, measureNodes(ctx, o))
	}
	if o.measures(partMany) {
		errs = append(errs, measureMany(ctx, o))
	}
	return errors.Join(errs...)
}

func (o options) measures(parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(o.parts, part) })
}

// row prints a row of the table. The load shows how busy the machine was.
func (o options) row(what, format string, args ...any) {
	load := "unknown"
	if content, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(content), " ")
	}
	fmt.Fprintf(o.out, "| %s | %s | %s |\n", what, fmt.Sprintf(format, args...), load)
}
