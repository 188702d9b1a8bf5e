// Command startbench measures the cost of starting the operator's binary: its size, and the time and peak memory of
// short runs. It uses only the standard library. A process's peak memory includes the time before its exec, when it
// shares its parent's memory, so the parent must be small.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	binary := flag.String("binary", "", "the operator's binary, stripped")
	inputs := flag.String("inputs", "", "directory with the installer's files for render")
	runs := flag.Int("runs", 20, "how often each command runs")
	flag.Parse()
	if err := bench(*binary, *inputs, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func bench(binary, inputs string, runs int) error {
	if runs < 1 {
		return errors.New("--runs: at least one run is needed")
	}
	info, err := os.Stat(binary)
	if err != nil {
		return fmt.Errorf("--binary: %w", err)
	}
	row("stripped binary", fmt.Sprintf("%.1f MB", float64(info.Size())/1e6))
	for _, command := range []struct {
		name string
		args func(out string) []string
	}{
		{"process start (`--help`)", func(string) []string { return []string{"--help"} }},
		{"`render`", renderArgs},
	} {
		samples, err := measure(binary, inputs, runs, command.args)
		if err != nil {
			return fmt.Errorf("%s: %w", command.name, err)
		}
		of := fmt.Sprintf("median (min–max) of %d", runs)
		row(command.name+", wall: "+of, spread(samples, "ms",
			func(s sample) float64 { return s.wall.Seconds() * 1000 }))
		row(command.name+", CPU time: "+of, spread(samples, "ms",
			func(s sample) float64 { return s.cpu.Seconds() * 1000 }))
		row(command.name+", peak memory: "+of, spread(samples, "MiB",
			func(s sample) float64 { return float64(s.peak) / (1 << 20) }))
	}
	return nil
}

// renderArgs are those of bootkube, with an output directory of its own.
func renderArgs(out string) []string {
	return []string{
		"render",
		"--asset-output-dir=" + out,
		"--config-output-file=" + filepath.Join(out, "config", "config.yaml"),
		"--rendered-manifest-files=manifests",
		"--payload-version=4.22.0",
		"--infra-config-file=manifests/cluster-infrastructure-02-config.yml",
		"--cloud-config-file=config-bootstrap/cloud-provider-config-generated.yaml",
		"--image-references=image-references",
		"--manifest-operator-image=operator.example.com/operator:1",
		"--system-trust-bundle=trust/tls-ca-bundle.pem",
	}
}

// sample is one run.
type sample struct {
	wall time.Duration
	// cpu is the time on all CPUs, which is more precise than wall time on a busy machine.
	cpu time.Duration
	// peak is the largest resident set in bytes.
	peak int64
}

// measure runs the command once to fill the page cache, and then runs times.
func measure(binary, dir string, runs int, args func(out string) []string) ([]sample, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	var samples []sample
	for i := range runs + 1 {
		s, err := once(binary, dir, args)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			samples = append(samples, s)
		}
	}
	return samples, nil
}

func once(binary, dir string, args func(out string) []string) (sample, error) {
	out, err := os.MkdirTemp("", "startbench-")
	if err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(out)
	command := exec.Command(binary, args(out)...)
	command.Dir = dir
	began := time.Now()
	output, err := command.CombinedOutput()
	wall := time.Since(began)
	if err != nil {
		return sample{}, fmt.Errorf("%w\n%s", err, output)
	}
	usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return sample{}, errors.New("this system does not tell what a process used")
	}
	cpu := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return sample{wall: wall, cpu: cpu, peak: usage.Maxrss << 10}, nil
}

func spread(samples []sample, unit string, value func(sample) float64) string {
	values := make([]float64, 0, len(samples))
	for _, s := range samples {
		values = append(values, value(s))
	}
	slices.Sort(values)
	// The mean of the two middle values of an even number.
	median := (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	return fmt.Sprintf("%.0f %s (%.0f–%.0f)", median, unit, values[0], values[len(values)-1])
}

// row prints a row of the table. The load shows how busy the machine was.
func row(what, value string) {
	load := "unknown"
	if content, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(content), " ")
	}
	fmt.Printf("| %s | %s | %s |\n", what, value, load)
}
