// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// collectors is the module of the layers, outside the workspace.
const collectors = "internal/integration/collectorpgo"

// buildTools builds what else runs: spanprof and the load.
func (b *bench) buildTools(ctx context.Context) error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	var err error
	if b.dir, err = filepath.Abs(b.dir); err != nil {
		return err
	}
	if err := b.shell(ctx, "go", "build", "-C", "cmd/spanprof", "-o", b.dir+"/", "."); err != nil {
		return err
	}
	return b.shell(ctx, "go", "build", "-C", "internal/integration", "-o", b.dir+"/", "./otlpload")
}

// compile builds all layers with a profile, or without.
func (b *bench) compile(ctx context.Context, profile string) error {
	args := []string{"build", "-C", collectors, "-o", b.program(profile, "") + "/"}
	if profile != "" {
		args = append(args, "-pgo="+profile)
	}
	for _, l := range b.layers {
		args = append(args, "./"+l.name)
	}
	start := time.Now()
	if err := b.shell(ctx, "go", args...); err != nil {
		return err
	}
	fmt.Printf("(%.0f s)\n", time.Since(start).Seconds())
	return nil
}

// program returns where compile puts a layer.
func (b *bench) program(profile, layer string) string {
	dir := plain
	if profile != "" {
		dir = strings.TrimSuffix(filepath.Base(profile), ".pgo")
	}
	return filepath.Join(b.dir, "built-"+dir, layer) // the directory, if layer is empty
}

// recorder returns what records the layers into a directory by spanprof record.
func (b *bench) recorder(name string, length time.Duration, flags ...string) func(context.Context) error {
	args := slices.Concat([]string{"record", "-o", filepath.Join(b.dir, name), "-for", length.String()}, flags)
	for _, l := range b.layers {
		args = append(args, "http://"+l.pprof+"/debug/pprof/")
	}
	return func(ctx context.Context) error { return b.spanprof(ctx, args...) }
}

// headStart is how long the recording runs before the load does.
const headStart = 2 * time.Second

// worked is what became of a load.
type worked struct {
	sent    int       // spans
	cpu     []float64 // seconds for a million spans, by layer
	covered bool      // the recording went on until all spans were through
}

// work sends spans through a build of the layers while they are recorded.
func (b *bench) work(ctx context.Context, build string, spans int, record func(context.Context) error) (w worked, err error) {
	for _, l := range slices.Backward(b.layers) { // the edge needs a gateway
		defer func() { err = errors.Join(err, l.stop()) }()
		if err := l.start(ctx, b, build); err != nil {
			return w, err
		}
	}
	before := make([]numbers, len(b.layers))
	for i, l := range b.layers {
		if before[i], err = l.read(ctx); err != nil {
			return w, err
		}
	}
	recorded := make(chan error, 1)
	go func() { recorded <- record(ctx) }()
	<-time.After(headStart)
	w.sent, err = b.load(ctx, spans)
	for i, l := range b.layers {
		if err != nil {
			break
		}
		err = l.until(ctx, "is through with its spans", func() (bool, error) { return l.settled(ctx, b, w.sent) })
		if err == nil {
			var m numbers
			m, err = l.read(ctx)
			w.cpu = append(w.cpu, (m.cpu-before[i].cpu)*1e6/float64(w.sent))
		}
	}
	w.covered = len(recorded) == 0
	return w, errors.Join(err, <-recorded)
}

// load sends spans to the first layer and returns how many were sent.
func (b *bench) load(ctx context.Context, spans int) (int, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, "otlpload"), "-to", b.layers[0].otlp, "-spans", strconv.Itoa(spans), "-rate", strconv.Itoa(b.rate))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	fmt.Printf("otlpload: %s", out)
	if err != nil {
		return 0, fmt.Errorf("otlpload: %w", err)
	}
	m := regexp.MustCompile(`^(\d+) spans sent`).FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("otlpload says %q", out)
	}
	return strconv.Atoi(string(m[1]))
}

func (b *bench) spanprof(ctx context.Context, args ...string) error {
	return b.shell(ctx, filepath.Join(b.dir, "spanprof"), args...)
}

// shell runs a command and shows it with what it prints.
func (b *bench) shell(ctx context.Context, name string, args ...string) error {
	text := strings.Join(append([]string{filepath.Base(name)}, args...), " ")
	fmt.Println("$ " + strings.ReplaceAll(text, b.dir+"/", "./"))
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
	if slices.Contains(args, collectors) {
		cmd.Env = append(cmd.Env, "GOWORK=off")
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}
