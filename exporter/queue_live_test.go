// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exporter_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// What an attempt makes of a profile does not stay in memory until the next one.
func TestQueueForgetsWhatItParsed(t *testing.T) {
	reports(t)
	var b bytes.Buffer
	if err := (&profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}}).Write(&b); err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string][]exporter.QueueOption{
		"memory": nil,
		"file":   {exporter.WithSpill(t.TempDir())},
	} {
		t.Run(name, func(t *testing.T) {
			d := &parser{tried: make(chan struct{})}
			q := newQueue(t, d, opts...)
			if err := q.Export(t.Context(), exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU}, b.Bytes())); err != nil {
				t.Fatal(err)
			}
			<-d.tried
			for begin := time.Now(); d.parsed.Value() != nil || name == "file" && d.bytes.Value() != nil; runtime.GC() {
				if time.Since(begin) > time.Minute {
					t.Fatalf("parsed form in memory: %t, bytes: %t", d.parsed.Value() != nil, d.bytes.Value() != nil)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = q.Shutdown(ctx)
			noWorkers(t)
		})
	}
}

// parser is a Destination that parses a profile, and cannot take it.
type parser struct {
	tried  chan struct{} // closed after an attempt
	bytes  weak.Pointer[byte]
	parsed weak.Pointer[profile.Profile]
}

func (d *parser) Send(_ context.Context, p *exporter.Profile) error {
	defer close(d.tried)
	data, _ := p.Pprof()
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	d.bytes, d.parsed = weak.Make(&data[0]), weak.Make(parsed)
	return &exporter.RetryError{Err: errors.New("429"), After: time.Hour}
}

func (d *parser) Shutdown(context.Context) error { return nil }

func TestQueueHasNoLabels(t *testing.T) {
	const key = "queue_test_label"
	d := new(destination)
	profile := make(chan string, 1)
	d.send = func(context.Context, string) error {
		var b bytes.Buffer
		err := pprof.Lookup("goroutine").WriteTo(&b, 1)
		profile <- b.String()
		return err
	}
	var q *exporter.Queue
	pprof.Do(t.Context(), pprof.Labels(key, "x"), func(context.Context) { q = newQueue(t, d) })
	export(t, q, "a")
	if got := <-profile; strings.Contains(got, key) {
		t.Errorf("a goroutine has kept its creator's labels:\n%s", got)
	}
	shutdown(t, q)
}
