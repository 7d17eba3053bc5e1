// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"testing"
	"time"
)

func TestWatch(t *testing.T) {
	const ms = time.Millisecond
	type wake struct{ planned, elapsed, cpu, waited time.Duration }
	for name, test := range map[string]struct {
		before []wake // to which no freeze belongs
		wake   wake
		want   time.Duration
	}{
		"in time":                  {nil, wake{10 * ms, 10 * ms, 0, 0}, 0},
		"somewhat late":            {nil, wake{10 * ms, 109 * ms, 0, 0}, 0},
		"early":                    {nil, wake{10 * ms, ms, 0, 0}, 0},
		"frozen":                   {nil, wake{10 * ms, 2010 * ms, 0, 0}, 2000 * ms},
		"frozen in a busy time":    {nil, wake{10 * ms, 2010 * ms, 10 * ms, 0}, 1990 * ms},
		"the process took the CPU": {nil, wake{10 * ms, 100 * ms, 95 * ms, 0}, 0},
		"on eight cores":           {[]wake{{10 * ms, 10 * ms, 80 * ms, 0}}, wake{10 * ms, 200 * ms, 80 * ms, 0}, 180 * ms},
		"eight cores, all late":    {[]wake{{10 * ms, 10 * ms, 80 * ms, 0}}, wake{10 * ms, 50 * ms, 400 * ms, 0}, 0},
		"slow, for a quota":        {nil, wake{10 * ms, 300 * ms, 60 * ms, 0}, 0},
		// What has run until a look is added to the CPU time of the process by that.
		"slow, after a look":    {[]wake{{10 * ms, 10 * ms, 10 * ms, 0}, {0, ms / 10, 4 * ms, 0}}, wake{10 * ms, 300 * ms, 60 * ms, 0}, 0},
		"starved":               {nil, wake{10 * ms, 800 * ms, 5 * ms, 780 * ms}, 0},
		"frozen, then starved":  {nil, wake{10 * ms, 810 * ms, 5 * ms, 300 * ms}, 345 * ms},
		"frozen after starving": {[]wake{{10 * ms, 600 * ms, 0, 590 * ms}}, wake{10 * ms, 510 * ms, 0, 0}, 500 * ms},
		"by two, after one":     {[]wake{{10 * ms, 4 * ms, 0, 0}}, wake{6 * ms, 206 * ms, 0, 0}, 200 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			var cpu, waited time.Duration
			now := time.Now()
			w := newWatch(generous, now)
			w.now = func() time.Time { return now }
			w.processTime = func() (time.Duration, bool) { return cpu, true }
			w.readDelays = func() (delays, bool) { return delays{"1": time.Hour, "2": time.Minute + waited, "3": waited / 2}, true }
			w.restart()
			for _, one := range test.before {
				w.plan(one.planned)
				now, cpu, waited = now.Add(one.elapsed), cpu+one.cpu, waited+one.waited
				if got := w.notice().d; got != 0 {
					t.Errorf("a freeze of %v before", got)
				}
			}
			if name != "by two, after one" { // where the rest of the plan holds
				w.plan(test.wake.planned)
			}
			now, cpu, waited = now.Add(test.wake.elapsed), cpu+test.wake.cpu, waited+test.wake.waited
			got := w.notice()
			if got.d != test.want {
				t.Errorf("frozen for %v, want %v", got.d, test.want)
			}
			if got.d > 0 && (got.until != now || got.at != now.Add(test.wake.planned-test.wake.elapsed)) {
				t.Errorf("frozen from %v before now until %v, want until now, from when it was to wake", now.Sub(got.at), got.until)
			}
		})
	}
}

func TestWatchWithoutClock(t *testing.T) {
	now := time.Now()
	w := newWatch(generous, now)
	w.now = func() time.Time { return now }
	w.processTime = func() (time.Duration, bool) { return 0, false }
	for _, test := range []struct{ late, want time.Duration }{{999 * time.Millisecond, 0}, {2 * time.Second, 2 * time.Second}} {
		w.plan(time.Second)
		now = now.Add(time.Second + test.late)
		if got := w.notice().d; got != test.want {
			t.Errorf("%v late: frozen for %v, want %v", test.late, got, test.want)
		}
	}
}

// TestDelaysAreTriedAgain: a system that does not tell how long threads waited, or has too
// many for once, is asked again, but not all the time.
func TestDelaysAreTriedAgain(t *testing.T) {
	now := time.Now()
	w := newWatch(generous, now)
	w.now = func() time.Time { return now }
	w.processTime = func() (time.Duration, bool) { return 0, true }
	var tried int
	var ok bool
	var waited time.Duration
	w.readDelays = func() (delays, bool) {
		tried++
		return delays{"1": waited}, ok
	}
	w.restart()
	wake := func(late, waits time.Duration) time.Duration {
		w.plan(time.Second)
		now = now.Add(time.Second + late)
		waited += waits
		return w.notice().d
	}
	for range 59 {
		wake(0, 0)
	}
	if tried != 1 {
		t.Errorf("tried %d times in a minute, want once", tried)
	}
	ok = true
	wake(0, 0)
	wake(0, 0)
	if got := wake(500*time.Millisecond, 490*time.Millisecond); got != 0 || tried < 2 {
		t.Errorf("frozen for %v after %d attempts, want none as the process waited for a CPU", got, tried)
	}
	if got := wake(500*time.Millisecond, 0); got != 500*time.Millisecond {
		t.Errorf("frozen for %v, want 500ms", got)
	}
}
