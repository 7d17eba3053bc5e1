// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// generous is a budget with which a test need not wait for samples.
const generous = 0.5

// TestWeightsSumToTheTime: what was there all the time has all of it, however
// the rounds fell, and in whichever window.
func TestWeightsSumToTheTime(t *testing.T) {
	for _, source := range sources() {
		t.Run(fmt.Sprintf("%T", source), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSampler(generous, source)
				stop := make(chan struct{})
				go span("all", func() { <-stop })
				synctest.Wait()

				begin := time.Now()
				s.Start()
				var count int64
				var got time.Duration
				for window := range 5 {
					time.Sleep(500 * time.Millisecond)
					rotate := s.Rotate
					if window == 4 {
						rotate = s.Stop
					}
					p, err := rotate()
					c, w := sum(samplesOf(checked(t, p, err), "all"))
					if int64(w) != p.DurationNanos {
						t.Errorf("the samples of a window of %v make %v", time.Duration(p.DurationNanos), w)
					}
					count, got = count+c, got+w
				}
				close(stop)
				if want := time.Since(begin); got != want || want < 2*time.Second {
					t.Errorf("the samples of all windows make %v, want the %v from the start to the stop", got, want)
				}
				if rounds := s.Stats().Rounds; uint64(count) != rounds {
					t.Errorf("%d samples in %d rounds of a goroutine that was always there", count, rounds)
				}
			})
		})
	}
}

func TestOnlyGoroutinesOfSpansCount(t *testing.T) {
	for _, source := range sources() {
		t.Run(fmt.Sprintf("%T", source), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stop := make(chan struct{})
				go func() { <-stop }()
				for _, key := range []string{"test", "span_name"} {
					go pprof.Do(t.Context(), pprof.Labels(key, "x"), func(context.Context) { <-stop })
				}
				synctest.Wait()
				s := newSampler(generous, source)
				playCPU(s)
				s.Start()
				time.Sleep(time.Second)
				p, err := s.Stop()
				close(stop)
				if samples := checked(t, p, err).Sample; len(samples) != 1 || samples[0].Label["span_name"] == nil {
					t.Errorf("got %v, want one of the span's name", samples)
				}
			})
		})
	}
}

// TestShortSpansAreRightOnAverage: those that have hardly ever a sample too.
func TestShortSpansAreRightOnAverage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSampler(generous, newSource())
		playCPU(s)
		repeatable(s)
		s.Start()
		// Shorter than the time between rounds, and in step with the clock.
		const length, spans = 4 * time.Millisecond, 1500
		for range spans {
			span("short", func() { time.Sleep(length) })
			time.Sleep(16 * time.Millisecond)
		}
		p, err := s.Stop()
		count, got := sum(samplesOf(checked(t, p, err), "short"))
		// A sample weighs some 10 ms, one way or the other: five standard
		// deviations of their number are tolerated.
		const want = spans * length
		tolerated := time.Duration(5 * float64(want) / math.Sqrt(float64(count)))
		if got < want-tolerated || got > want+tolerated {
			t.Errorf("the spans have %v in %d samples, want %v by up to %v more or less", got, count, want, tolerated)
		}
	})
}

// TestBudgetHolds plays 20 minutes with varying numbers of goroutines. Only the test has their
// cost.
func TestBudgetHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	const length = 20 * time.Minute
	chance := rand.New(rand.NewPCG(1, 2))
	for _, budget := range []float64{0.001, 0.01, 0.1} {
		for name, cost := range map[string]func(n int, turn int) time.Duration{
			"as foreseen": func(n, _ int) time.Duration { return time.Duration(1000 * n) },
			"three times": func(n, _ int) time.Duration { return time.Duration(9000 * n) },
			"by chance":   func(n, _ int) time.Duration { return time.Duration(chance.Float64() * 3000 * float64(n)) },
			"with fits": func(n, turn int) time.Duration {
				if turn%50 == 49 {
					return time.Duration(1500 * n)
				}
				return time.Duration(500 * n)
			},
		} {
			t.Run(fmt.Sprintf("%v/%s", budget, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					begin := time.Now()
					goroutines := func() int {
						// The last is more than the budget can ever
						// pay for.
						steps := []int{100, 10_000, 10, 1000, 50_000, 500, 1_000_000_000}
						return steps[int(time.Since(begin)/(70*time.Second))%len(steps)]
					}
					type spent struct {
						at   time.Time
						cost time.Duration
					}
					var all []spent
					s := newSampler(budget, emptySource{})
					repeatable(s)
					s.goroutines = goroutines
					s.measure = func(f func()) time.Duration {
						f()
						c := cost(goroutines(), len(all))
						all = append(all, spent{time.Now(), waking + c})
						return c
					}
					s.Start()
					time.Sleep(length)
					close(s.stop)
					<-s.done

					var total, minute, worst, dearest time.Duration
					first := 0
					for _, one := range all {
						total += one.cost
						dearest = max(dearest, one.cost)
						minute += one.cost
						for ; one.at.Sub(all[first].at) > time.Minute; first++ {
							minute -= all[first].cost
						}
						worst = max(worst, minute)
					}
					// What one round needs more than half a minute for is saved before.
					perMinute := time.Duration(budget * float64(time.Minute))
					if most := perMinute + max(perMinute, 11*dearest/10); worst > most {
						t.Errorf("a minute took %v, want at most %v", worst, most)
					}
					if st := s.Stats(); st.CPU != total || st.Rounds != uint64(len(all)) || st.RoundsSkipped == 0 {
						t.Errorf("%+v, want %d rounds of %v and some skipped", st, len(all), total)
					}
					// Half of the time there are few goroutines, and a seventh of it far too
					// many.
					if least := time.Duration(budget / 5 * float64(length)); total < least && len(all) < int(length/minInterval)/4 {
						t.Errorf("all took %v in %d rounds, want at least %v", total, len(all), least)
					}
				})
			})
		}
	}
}

// To make the profiles can cost more than the rounds did.
func TestBudgetHoldsWithProfiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const budget, n, length = 0.01, 2000, 5 * time.Minute
		var total time.Duration
		var rotating atomic.Bool
		source := &variedSource{n: n}
		s := newSampler(budget, source)
		repeatable(s)
		s.goroutines = func() int { return n }
		s.measure = func(f func()) time.Duration {
			f()
			if rotating.Load() {
				cost := time.Duration(5000 * len(source.found))
				source.found = source.found[:0]
				total += cost
				return cost
			}
			total += waking + n*1000
			return n * 1000
		}
		s.Start()
		for range 30 {
			time.Sleep(length / 30)
			synctest.Wait()
			rotating.Store(true)
			p, err := s.Rotate()
			rotating.Store(false)
			checked(t, p, err)
		}
		close(s.stop)
		<-s.done
		if planned := budget * float64(length); float64(total) > 1.1*planned || float64(total) < planned/2 {
			t.Errorf("all windows took %v, want about %v", total, time.Duration(planned))
		}
		if got := s.Stats().CPU; got != total {
			t.Errorf("the status has %v, want %v", got, total)
		}
	})
}

// variedSource finds n different goroutines. Its frames have no function.
type variedSource struct {
	emptySource
	n     int
	found []uintptr
}

func (s *variedSource) visit(found func([]uintptr, []label, int64)) {
	for range s.n {
		s.found = append(s.found, uintptr(len(s.found)))
		found(s.found[len(s.found)-1:], nil, 1)
	}
}

// emptySource finds nothing.
type emptySource struct{}

func (emptySource) priorCost() float64                    { return 3000 }
func (emptySource) look() error                           { return nil }
func (emptySource) visit(func([]uintptr, []label, int64)) {}
func (emptySource) split([]uintptr) int                   { return 1 }
func (emptySource) frames([]uintptr) []frame              { return nil }

// Rounds that fail are errors of Rotate, and their time is unwatched.
func TestFailedRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &failingSource{source: newSource()}
		s := newSampler(generous, source)
		playCPU(s)
		stop := make(chan struct{})
		go span("all", func() { <-stop })
		synctest.Wait()
		s.Start()
		for _, test := range []struct {
			fails bool
			want  time.Duration
		}{{false, time.Second}, {true, 0}, {false, time.Second}} {
			source.fail.Store(test.fails)
			time.Sleep(time.Second)
			p, err := s.Rotate()
			if _, got := sum(samplesOf(p, "all")); errors.Is(err, errFailing) != test.fails || got != test.want {
				t.Errorf("fails %t: the samples make %v, and the error is %v", test.fails, got, err)
			}
		}
		if got := s.Stats().Unwatched; got != time.Second {
			t.Errorf("%v were unwatched, want the window in the middle", got)
		}
		stopped, err := s.Stop()
		checked(t, stopped, err)
		close(stop)
	})
}

var errFailing = errors.New("no goroutine to be seen")

type failingSource struct {
	source
	fail atomic.Bool
}

func (s *failingSource) look() error {
	if s.fail.Load() {
		return errFailing
	}
	return s.source.look()
}

func TestTypesOfTheProfile(t *testing.T) {
	s := New(generous)
	before := time.Now()
	s.Start()
	p, err := s.Stop()
	checked(t, p, err)
	if len(p.SampleType) != 2 || p.SampleType[0].Type != "samples" || p.SampleType[0].Unit != "count" ||
		p.SampleType[1].Type != "wall" || p.SampleType[1].Unit != "nanoseconds" {
		t.Errorf("sample types are %v", p.SampleType)
	}
	if p.PeriodType.Type != "wall" || p.PeriodType.Unit != "nanoseconds" || p.Period <= 0 {
		t.Errorf("the period is %d %v", p.Period, p.PeriodType)
	}
	if p.TimeNanos < before.UnixNano() || p.DurationNanos <= 0 {
		t.Errorf("the profile is of %d for %d", p.TimeNanos, p.DurationNanos)
	}
}

// A process that is stopped or suspended is in no profile for that time: an interval counts at
// most three times its plan.
func TestFreezeIsUnwatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSampler(generous, newSource())
		playCPU(s)
		s.pacer.random = func() float64 { return 0.5 } // all intervals are minInterval
		var frozen time.Duration
		s.goroutines = func() int {
			time.Sleep(frozen)
			frozen = 0
			return 1
		}
		stop := make(chan struct{})
		go span("all", func() { <-stop })
		synctest.Wait()
		s.Start()
		time.Sleep(95 * time.Millisecond)
		s.mu.Lock()
		frozen = time.Second
		s.mu.Unlock()
		time.Sleep(1095 * time.Millisecond)
		p, err := s.Stop()
		close(stop)
		// The round at 100 ms is at 1,100 ms, and its interval counts 30 ms.
		const want = (90 + 30 + 90) * time.Millisecond
		if _, got := sum(samplesOf(checked(t, p, err), "all")); got != want || s.Stats().Unwatched != 980*time.Millisecond {
			t.Errorf("got %v, and %v unwatched; want %v and 980 ms", got, s.Stats().Unwatched, want)
		}
	})
}
