// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// counter is a sampler. Its pieces have one sample, of value 1, 2, 4 and so on:
// sums tell which pieces are in them.
type counter struct {
	next   int64
	opened time.Time
	broken bool // pieces cannot be merged
}

func (c *counter) start() error {
	c.next, c.opened = 1, time.Now()
	return nil
}

func (c *counter) rotate() (*exporter.Profile, error) {
	w := exporter.Window{Kind: "test", Start: c.opened, Duration: time.Since(c.opened)}
	c.opened = time.Now()
	value := c.next
	c.next *= 2
	unit := "count"
	if c.broken {
		unit = strings.Repeat("x", int(value))
	}
	return exporter.NewParsedProfile(w, &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "test", Unit: unit}},
		PeriodType:    &profile.ValueType{Type: "test", Unit: unit},
		DurationNanos: w.Duration.Nanoseconds(),
		Sample:        []*profile.Sample{{Value: []int64{value}, Label: map[string][]string{"id": {"x"}}}},
	}), nil
}

func (c *counter) stop() (*exporter.Profile, error) { return c.rotate() }

func second() time.Duration { return time.Second }

// total returns the sum of the values and the seconds that were measured.
func total(t *testing.T, p *exporter.Profile) (value int64, seconds float64) {
	t.Helper()
	parsed, err := p.Parsed()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range parsed.Sample {
		value += s.Value[0]
	}
	return value, time.Duration(parsed.DurationNanos).Seconds()
}

// reading is a call of Profile.
type reading struct {
	tap  *tap
	out  strings.Builder
	err  error
	done chan struct{}
}

func read(ctx context.Context, s *stream, d time.Duration) *reading {
	r := &reading{tap: newTap(d), done: make(chan struct{})}
	s.taps = append(s.taps, r.tap)
	go func() {
		defer close(r.done)
		r.err = r.tap.write(ctx, &r.out)
	}()
	return r
}

// value returns the sum that was written.
func (r *reading) value(t *testing.T) int64 {
	t.Helper()
	<-r.done
	if r.err != nil {
		t.Fatal(r.err)
	}
	value, _ := total(t, exporter.NewProfile(exporter.Window{}, []byte(r.out.String())))
	return value
}

func TestStreamSharesEdges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stream{sampler: new(counter), apart: second}
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		at := func(d time.Duration) {
			t.Helper()
			<-time.After(time.Until(begin.Add(d)))
			if err := s.cut(sampler.rotate); err != nil {
				t.Fatal(err)
			}
		}
		seven := read(t.Context(), s, 7*time.Second)
		near := read(t.Context(), s, 7900*time.Millisecond)
		far := read(t.Context(), s, 8100*time.Millisecond)
		long := read(t.Context(), s, 60*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		gone := read(ctx, s, 2*time.Second)

		at(3 * time.Second) // piece 1: gone is not due yet
		if due, ok := s.due(); !ok || due.Sub(begin) != 7*time.Second {
			t.Errorf("next edge after %v, want 7s", due.Sub(begin))
		}
		at(7 * time.Second) // piece 2
		if due, ok := s.due(); !ok || due.Sub(begin) != 8100*time.Millisecond {
			t.Errorf("next edge after %v, want 8.1s", due.Sub(begin))
		}
		at(8100 * time.Millisecond) // piece 4
		for i := range 20 {         // more pieces than are kept
			at(time.Duration(9+i) * time.Second)
			synctest.Wait()
		}
		cancel()
		windows, err := s.end(sampler.rotate)
		if err != nil || len(windows) != 1 {
			t.Fatalf("%d windows: %v", len(windows), err)
		}
		s.release()

		const all = 1<<24 - 1
		if value, seconds := total(t, windows[0]); value != all || seconds != 28 || !windows[0].Start().Equal(begin) || windows[0].Duration() != 28*time.Second {
			t.Errorf("the window has %b in %v s of %v, want all pieces and 28 s", value, seconds, windows[0].Duration())
		}
		for _, test := range []struct {
			name string
			r    *reading
			want int64
		}{{"7s", seven, 3}, {"7.9s", near, 3}, {"8.1s", far, 7}, {"60s", long, all}, {"2s", gone, 1}} {
			if diff := cmp.Diff(test.want, test.r.value(t)); diff != "" {
				t.Errorf("pieces of %s (-want +got):\n%s", test.name, diff)
			}
		}
	})
}

func TestStreamOfPiecesThatDoNotMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stream{sampler: &counter{broken: true}, apart: second}
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		r := read(t.Context(), s, time.Hour)
		left := read(t.Context(), s, time.Hour)
		left.tap.gone.Store(true)
		if _, err := s.sampler.rotate(); err != nil {
			t.Fatal(err)
		}
		if err := s.cut(sampler.rotate); err != nil {
			t.Fatal(err)
		}
		windows, err := s.end(sampler.stop)
		if len(windows) != 2 || err == nil || !strings.Contains(err.Error(), "merge 2 pieces") {
			t.Errorf("%d windows, %v, want both pieces and the error", len(windows), err)
		}
		if due, ok := s.due(); !ok || len(s.taps) != 1 {
			t.Errorf("%d taps until %v, want 1", len(s.taps), due)
		}
		s.release()
		close(left.tap.done)
		<-left.done
		<-r.done
		if r.err == nil || r.out.Len() > 0 {
			t.Errorf("wrote %d bytes, %v, want the error", r.out.Len(), r.err)
		}
	})
}
