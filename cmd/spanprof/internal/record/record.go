// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package record keeps the profiles of running processes in files.
//
// # What is kept
//
// The bytes are unchanged. Each recording of an address has its own directory, in the layout
// of package exporter/file:
//
//	DIR/10.0.0.7_1777/20261121T130405.123Z/recording.json
//	DIR/10.0.0.7_1777/20261121T130405.123Z/20261121T130405.123456789Z-shop-cpu.pprof.gz
//
// recording.json is a [source.Recording]: the address and the resource.
//
// Heap, mutex and block profiles of net/http/pprof count since the process began. They are
// kept unchanged, at the beginning and at the end of each window. Package source subtracts
// one from the next. A lost file makes one window longer and loses nothing.
//
// CPU is measured without a pause, one window after the other.
//
// # Gaps
//
// Each kind has its own requests: a slow one delays no other, and not the end. A request is
// given up half a window after its time. A gap begins at the end of the last good profile
// of its kind. A profile that counts since the process began has a gap only at a restart.
//
// # Runs
//
// A process was restarted if a profile has another address of the vDSO: Linux chooses one for
// each process. On other systems, it has another build id, or the difference of two profiles
// shows a restart to readers. Readers separate the runs.
package record

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/termtext"
)

// Config is the configuration of Run.
type Config struct {
	// Dir is where the directories of the targets are made.
	Dir     string
	Targets []*source.Target
	// For is how long to record, Every how long a window is. CPU profiles are in
	// whole seconds.
	For, Every time.Duration
	// Resource is what the command line states of the processes: attributes of
	// OpenTelemetry such as service.version, and others.
	Resource map[string]string
	// MaxBytes bounds the profiles of each target: the oldest are removed for new ones.
	MaxBytes int64
	// Report is called with what the user should read at once, by several goroutines.
	Report func(string)
}

// Result is the result of a target.
type Result struct {
	Target, Dir string
	// Profiles and Bytes were written, of Runs of the process.
	Profiles, Runs int
	Bytes          int64
	// Failures are the requests and files that failed.
	Failures int
	// Gaps are the times without profiles, by kind.
	Gaps map[exporter.Kind]Gaps
	// Err is the last failure if no profile came after it.
	Err error
}

// Gaps are N times without profiles of a kind, Length together. A gap begins at the end of
// the last profile before a request that failed.
type Gaps struct {
	N      int
	Length time.Duration
}

func (r *Result) gap(kind exporter.Kind, length time.Duration) {
	all := r.Gaps[kind]
	r.Gaps[kind] = Gaps{N: all.N + 1, Length: all.Length + max(0, length)}
}

// String returns the result as a line.
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s", r.Target, termtext.Plural(r.Profiles, "profile"), termtext.Value(r.Bytes, termtext.Bytes))
	if r.Profiles > 0 {
		fmt.Fprintf(&b, ", %s of the process, in %s", termtext.Plural(r.Runs, "run"), r.Dir)
	}
	if r.Failures > 0 {
		fmt.Fprintf(&b, "; %s", termtext.Plural(r.Failures, "failure"))
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Gaps)) {
		fmt.Fprintf(&b, "; %s: %s of %v", kind, termtext.Plural(r.Gaps[kind].N, "gap"), r.Gaps[kind].Length.Round(100*time.Millisecond))
	}
	if r.Err != nil {
		fmt.Fprintf(&b, "; %v", r.Err)
	}
	return b.String()
}

// Run records until the time is over or ctx ends. It returns the result of each target.
func Run(ctx context.Context, c Config) []Result {
	results := make([]Result, len(c.Targets))
	var all sync.WaitGroup
	for i, t := range c.Targets {
		all.Go(func() {
			defer t.Close()
			results[i] = newTarget(c, t).record(ctx)
		})
	}
	all.Wait()
	return results
}
