// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// limited is a destination for profiles of at most max samples.
type limited struct {
	max   int
	parts []*exporter.Profile
	tried int
}

func (l *limited) Send(_ context.Context, p *exporter.Profile) error {
	l.tried++
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	if len(parsed.Sample) > l.max {
		return &exporter.RetryError{Err: errors.New("413"), Refused: true, TooLarge: true}
	}
	l.parts = append(l.parts, p)
	return nil
}

func (*limited) Shutdown(context.Context) error { return nil }

// samples returns a profile with n samples of different stacks. The value of each is its
// number.
func samples(n int) *exporter.Profile {
	m := &profile.Mapping{ID: 1, Limit: 10, File: "a.out", HasFunctions: true}
	count := &profile.ValueType{Type: "samples", Unit: "count"}
	p := &profile.Profile{SampleType: []*profile.ValueType{count}, PeriodType: count, Mapping: []*profile.Mapping{m}}
	for i := range n {
		f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprint("f", i)}
		l := &profile.Location{ID: uint64(i + 1), Mapping: m, Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{int64(i + 1)}, Label: map[string][]string{"a": {"b"}}})
	}
	return exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Now(), Duration: time.Second}, p)
}

// A profile that is too large is halved until it fits. Each sample arrives once, in windows
// with different starts.
func TestHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &limited{max: 100}
		q := newQueue(t, d, exporter.QueueConfig{})
		whole := samples(1000)
		if err := q.Export(t.Context(), whole); err != nil {
			t.Fatal(err)
		}
		shutdown(t, q)
		values, starts := map[int64]int{}, map[time.Time]bool{}
		for _, part := range d.parts {
			parsed, err := part.Parsed()
			if err != nil {
				t.Fatal(err)
			}
			if len(parsed.Function) != len(parsed.Sample) {
				t.Errorf("%d functions of %d samples", len(parsed.Function), len(parsed.Sample))
			}
			starts[part.Start()] = true
			if !part.End().Equal(whole.End()) {
				t.Errorf("part ends at %v, want %v", part.End(), whole.End())
			}
			for _, s := range parsed.Sample {
				values[s.Value[0]]++
			}
		}
		if len(values) != 1000 || len(d.parts) != 16 || len(starts) != 16 || d.tried != 31 {
			t.Errorf("%d samples in %d parts with %d starts after %d attempts, want 1000, 16, 16, 31", len(values), len(d.parts), len(starts), d.tried)
		}
		wantStatus(t, q, exporter.Status{Exported: 16})
	})
}

// Halving has an end, also if nothing is small enough.
func TestHalvesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &limited{}
		q := newQueue(t, d, exporter.QueueConfig{})
		if err := errors.Join(q.Export(t.Context(), samples(1000)), q.Export(t.Context(), samples(3))); err != nil {
			t.Fatal(err)
		}
		if err := q.Shutdown(t.Context()); err == nil {
			t.Error("Shutdown: want the loss")
		}
		if d.tried != 127+5 {
			t.Errorf("%d attempts, want 132", d.tried)
		}
		wantStatus(t, q, exporter.Status{Lost: map[string]uint64{"rejected": 64 + 3}})
	})
}

// A waiting profile takes the bytes of its pprof form.
func TestWaitingProfileIsPacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &destination{answer: func(context.Context, string) (bool, error) { return false, retry(exporter.RetryError{Refused: true}) }}
		q := newQueue(t, d, exporter.QueueConfig{})
		p := samples(1000)
		if err := q.Export(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		data, err := p.Pprof()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := account(t, q).Bytes, int64(len(data)); got != want {
			t.Errorf("%d bytes wait, want %d", got, want)
		}
		d.set(nil)
		shutdown(t, q)
	})
}

// A profile that cannot be encoded is lost as invalid, and reported by ForceFlush.
func TestInvalidProfile(t *testing.T) {
	q := newQueue(t, &destination{}, exporter.QueueConfig{})
	if err := q.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU}, nil)); err != nil {
		t.Fatal(err)
	}
	if err := q.ForceFlush(t.Context()); err == nil || err.Error() != "test: 1 invalid: exporter: the cpu profile is nil" {
		t.Errorf("ForceFlush: %v", err)
	}
	wantStatus(t, q, exporter.Status{Lost: map[string]uint64{"invalid": 1}})
	shutdown(t, q)
}
