// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"bytes"
	"fmt"
	"io"
	"runtime/pprof"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/marker"
	"github.com/spanprof/spanprof/internal/marker/decode"
)

// delta takes the difference between two profiles of heap, mutex or block. The runtime counts
// from the start of the process.
type delta struct {
	kind     exporter.Kind
	profiler interface{ Profile(w io.Writer) error } // one of godeltaprof's
	opened   time.Time
}

// start takes a profile and discards it: it has the counts so far.
func (d *delta) start() error {
	d.opened = time.Now()
	if err := d.profiler.Profile(io.Discard); err != nil {
		return fmt.Errorf("%s profile: the first window has all counts so far: %w", d.kind, err)
	}
	return nil
}

func (d *delta) rotate() (*exporter.Profile, error) {
	opened := d.opened
	d.opened = time.Now()
	var b bytes.Buffer
	if err := d.profiler.Profile(&b); err != nil {
		return nil, fmt.Errorf("%s profile: %w", d.kind, err)
	}
	return marked(exporter.Window{Kind: d.kind, Start: opened, Duration: d.opened.Sub(opened)}, b.Bytes())
}

// marked returns the profile of pprof bytes. Work under a marker has the label span_name.
func marked(w exporter.Window, pprof []byte) (*exporter.Profile, error) {
	if marker.Names() == nil {
		return exporter.NewProfile(w, pprof), nil
	}
	p, err := profile.ParseData(pprof)
	if err != nil {
		return nil, fmt.Errorf("%s profile: %w", w.Kind, err)
	}
	decode.Label(p)
	return exporter.NewParsedProfile(w, p), nil
}

func (d *delta) stop() (*exporter.Profile, error) { return d.rotate() }

// goroutines counts goroutines at the end of each window, by stack and labels.
type goroutines struct{}

func (goroutines) start() error { return nil }

func (goroutines) rotate() (*exporter.Profile, error) {
	now := time.Now()
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
		return nil, fmt.Errorf("goroutine profile: %w", err)
	}
	return marked(exporter.Window{Kind: exporter.KindGoroutine, Start: now}, b.Bytes())
}

func (g goroutines) stop() (*exporter.Profile, error) { return g.rotate() }
