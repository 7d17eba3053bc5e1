// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package wall

import (
	"context"
	"fmt"
	"maps"
	"net"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/livetest"
)

// enough is how many samples a span must have before a test looks at them: few, as a busy
// machine allows no more.
const enough = 3

// wait is a way to wait for d.
type wait struct {
	wait func(d time.Duration)
	leaf string // the function of this wait
	by   string // a function that it is called by
}

func waits(t *testing.T) map[string]wait {
	t.Helper()
	all := map[string]wait{
		"channel": {func(d time.Duration) { <-time.After(d) }, "runtime.chanrecv", "waits.func1"},
		"select": {func(d time.Duration) {
			select {
			case <-time.After(d):
			case <-t.Context().Done():
			}
		}, "runtime.selectgo", "waits.func2"},
		"lock": {func(d time.Duration) {
			var mu sync.Mutex
			mu.Lock()
			time.AfterFunc(d, mu.Unlock)
			mu.Lock()
		}, "runtime.semacquire1", "sync.(*Mutex).Lock"},
		"sleep": {time.Sleep, "time.Sleep", "wall.span"},
		"none":  {compute, "", "wall.compute"},
		"network": {func(d time.Duration) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = l.Close() }()
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			if err := conn.SetReadDeadline(time.Now().Add(d)); err != nil {
				t.Error(err)
				return
			}
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Error("read something that nobody sent")
			}
		}, "runtime.netpollblock", "net.(*conn).Read"},
	}
	maps.Copy(all, systemCalls)
	return all
}

func TestSpansHaveTheTimeThatTheyTook(t *testing.T) {
	for _, source := range sources() {
		t.Run(source.name(), func(t *testing.T) {
			for name, test := range waits(t) {
				t.Run(name, func(t *testing.T) {
					s := newSampler(generous, source)
					s.Start()
					defer stopped(t, s)
					livetest.Doubling(t, 100*time.Millisecond, func(d time.Duration) string {
						before := s.Stats().Unwatched
						least, most := span(name, func() { test.wait(d) })
						p, err := s.Rotate()
						samples := samplesOf(checked(t, p, err), name)
						count, got := sum(samples)
						if few := livetest.Few(count, enough, "samples"); few != "" {
							return few
						}
						unwatched := s.Stats().Unwatched - before
						if wrong := accuracy(p); got < least-wrong-unwatched || got > most+wrong {
							t.Errorf("the samples make %v, want %v to %v by up to %v more or less, with %v unwatched", got, least, most, wrong, unwatched)
						}
						var told time.Duration
						for _, sample := range samples {
							if strings.HasSuffix(functions(sample)[0], test.leaf) && has(sample, test.by) {
								told += time.Duration(sample.Value[1])
							}
						}
						// On a busy machine the rest of the span takes long, too.
						if told < got/2 {
							return fmt.Sprintf("got %v of %v in %s below %s, want half; there are %q", told, got, test.leaf, test.by, functions(samples[0]))
						}
						return ""
					})
				})
			}
		})
	}
}

// compute does not wait.
//
//go:noinline
func compute(d time.Duration) {
	for begin, n := time.Now(), 0; time.Since(begin) < d; {
		for range 100_000 {
			n++
		}
	}
}

func TestOnlyGoroutinesOfSpansCount(t *testing.T) {
	for _, source := range sources() {
		t.Run(source.name(), func(t *testing.T) {
			var wait sync.WaitGroup
			stop := make(chan struct{})
			wait.Go(func() { <-stop })
			wait.Go(func() {
				pprof.Do(context.Background(), pprof.Labels("test", "other"), func(context.Context) { <-stop })
			})
			defer wait.Wait()
			defer close(stop)

			s := newSampler(generous, source)
			s.Start()
			defer stopped(t, s)
			livetest.Doubling(t, 100*time.Millisecond, func(d time.Duration) string {
				pprof.Do(context.Background(), pprof.Labels("span_name", "by name alone"), func(context.Context) { <-time.After(d) })
				p, err := s.Rotate()
				for _, sample := range checked(t, p, err).Sample {
					if sample.Label["span_name"] == nil {
						t.Errorf("a sample has labels %v", sample.Label)
					}
				}
				return livetest.Few(int64(len(p.Sample)), 1, "samples")
			})
		})
	}
}
