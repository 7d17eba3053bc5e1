// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exporter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// reader is an Exporter that reads the parsed form, as the store does.
type reader struct{ discard }

func (reader) Export(_ context.Context, p *exporter.Profile) error {
	_, err := p.Parsed()
	return err
}

// Where lanes hold profiles, they hold what they count, though others and their own
// attempts parse them: the parsed form is some 50 times as large.
func TestLanesHoldWhatTheyCount(t *testing.T) {
	reports(t)
	encoded := manySpans(t)
	for name, opts := range map[string][]exporter.QueueOption{"memory": nil, "file": {exporter.WithSpill(t.TempDir())}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck := make(chan struct{})
				hangs := &sink{export: func(context.Context, string) error { <-stuck; return nil }}
				fails := newQueue(t, parsing{}, opts...)
				m := exporter.NewMulti(hangs, reader{}, fails)
				before := heap()
				for range 48 {
					// Lanes share the bytes of a profile.
					if err := m.Export(t.Context(), exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU}, bytes.Clone(encoded))); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				held := heap() - before
				lanes := m.Lanes()
				if lanes[0].Waiting != 48 || lanes[1].Exported != 48 || lanes[2].Waiting != 48 {
					t.Fatalf("%v, want that 48 wait in the first and the last", lanes)
				}
				if bound := 2 * (lanes[0].Bytes + lanes[2].Bytes); held > bound {
					t.Errorf("%d bytes held, want at most %d, twice what is counted", held, bound)
				}
				t.Logf("%d KiB held, %d and %d counted", held>>10, lanes[0].Bytes>>10, lanes[2].Bytes>>10)
				close(stuck)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = m.Shutdown(ctx)
			})
		})
	}
}

// A parsed profile counts what it takes, whether its samples share their labels, as
// those of the profiler do, or not.
func TestParsedProfileHoldsWhatItCounts(t *testing.T) {
	const profiles = 10
	encoded := manySpans(t)
	for _, shared := range []bool{false, true} {
		var held []*exporter.Profile
		counted := int64(0)
		before := heap()
		for range profiles {
			parsed, err := profile.ParseData(encoded)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range parsed.Sample {
				if shared {
					s.Label = parsed.Sample[i-i%20].Label
				}
			}
			p := exporter.NewParsedProfile(exporter.Window{}, parsed)
			held, counted = append(held, p), counted+int64(p.Size())
		}
		got := heap() - before
		t.Logf("shared labels: %v; %d KiB held, %d counted", shared, got>>10, counted>>10)
		if counted < got*3/4 || counted > got*3/2 {
			t.Errorf("shared labels: %v; %d bytes held, %d counted", shared, got, counted)
		}
		runtime.KeepAlive(held)
	}
}

// parsing is a Destination that parses and cannot deliver.
type parsing struct{}

func (parsing) Send(_ context.Context, p *exporter.Profile) error {
	_, err := p.Parsed()
	return &exporter.RetryError{Err: errors.Join(errors.New("503"), err)}
}

// manySpans returns a profile whose samples are of 2,000 spans.
func manySpans(t *testing.T) []byte {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{}}
	for i := range 200 {
		f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprint("f", i)}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: f}}})
	}
	for i := range 2000 {
		s := &profile.Sample{Value: []int64{int64(i)}, Label: map[string][]string{"span_id": {fmt.Sprintf("%016x", uint64(i)*0x9e3779b97f4a7c15)}}}
		for j := range 20 {
			s.Location = append(s.Location, p.Location[(i*7+j*j)%200])
		}
		p.Sample = append(p.Sample, s)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// heap returns how much of the heap is in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers and weak pointers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
