// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler

import (
	"context"
	"math/bits"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
)

// encoded is a sampler whose pieces are made from bytes, as runtime/pprof's.
type encoded struct{ counter }

func (e *encoded) rotate() (*exporter.Profile, error) {
	p, err := e.counter.rotate()
	if err != nil {
		return nil, err
	}
	b, err := p.Pprof()
	return exporter.NewProfile(exporter.Window{Kind: p.Kind(), Start: p.Start(), Duration: p.Duration()}, b), err
}

// What a tap decodes or encodes does not stay with the window, which may wait for
// the exporter and counts there by what it was made from.
func TestWindowKeepsNothingOfTaps(t *testing.T) {
	for name, sampled := range map[string]sampler{"parsed": new(counter), "encoded": new(encoded)} {
		t.Run(name, func(t *testing.T) {
			s := &stream{sampler: sampled}
			if err := s.start(); err != nil {
				t.Fatal(err)
			}
			tap := newTap(time.Hour)
			s.taps = append(s.taps, tap)
			windows, err := s.end(sampler.rotate)
			if err != nil || len(windows) != 1 {
				t.Fatalf("%d windows, %v", len(windows), err)
			}
			window, piece := windows[0], tap.take(1)[0]
			parsed, err := piece.Parsed()
			b, bytesErr := piece.Pprof()
			if err != nil || bytesErr != nil {
				t.Fatal(err, bytesErr)
			}
			form, bytes := weak.Make(parsed), weak.Make(&b[0])
			made := func() bool { return form.Value() == nil }
			if name == "parsed" {
				made = func() bool { return bytes.Value() == nil }
			}
			for begin := time.Now(); !made(); runtime.GC() {
				if time.Since(begin) > time.Minute {
					t.Fatal("the window keeps what was made of it")
				}
			}
			runtime.KeepAlive(window)
		})
	}
}

// Whoever asks for short profiles again and again does not cut more often than
// once a second, and has what he asked for, or more.
func TestShortProfilesDoNotCutOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(new(exportertest.Recorder), WithWindow(time.Hour), WithFirstEnd())
		if err != nil {
			t.Fatal(err)
		}
		c := new(counter)
		s := &stream{kind: exporter.KindWall, sampler: c}
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		p.kinds, p.streams, p.state = nil, []*stream{s}, running
		opened := make(chan struct{})
		go p.loop(opened)
		<-opened

		const took = 10 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), took)
		defer cancel()
		var clients sync.WaitGroup
		for i := range 5 {
			clients.Go(func() {
				<-time.After(time.Duration(i) * 170 * time.Millisecond)
				for {
					begin := time.Now()
					var b strings.Builder
					err := p.Profile(ctx, &b, exporter.KindWall, time.Duration(1+300*i)*time.Millisecond)
					if ctx.Err() != nil {
						return
					}
					if err != nil {
						t.Error(err)
					}
					_, seconds := total(t, exporter.NewProfile(exporter.Window{}, []byte(b.String())))
					if least := (time.Duration(1+300*i) * time.Millisecond * 4 / 5).Seconds(); seconds < least || seconds > time.Since(begin).Seconds()+1 {
						t.Errorf("a profile of %v s in %v, want %v at least", seconds, time.Since(begin), least)
					}
				}
			})
		}
		clients.Wait()
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		// One is Shutdown's.
		if cuts := bits.TrailingZeros64(uint64(c.next)); cuts <= 1 || cuts > int(took/apart)+1 {
			t.Errorf("%d cuts in %v, want one a second at most", cuts, took)
		}
	})
}
