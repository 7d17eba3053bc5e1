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
		"starved":                  {nil, wake{10 * ms, 800 * ms, 5 * ms, 780 * ms}, 0},
		"frozen, then starved":     {nil, wake{10 * ms, 810 * ms, 5 * ms, 300 * ms}, 345 * ms},
		"frozen after starving":    {[]wake{{10 * ms, 600 * ms, 0, 590 * ms}}, wake{10 * ms, 510 * ms, 0, 0}, 500 * ms},
		"by two, after one":        {[]wake{{10 * ms, 4 * ms, 0, 0}}, wake{6 * ms, 206 * ms, 0, 0}, 200 * ms},
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
				if got := w.notice(); got != 0 {
					t.Errorf("a freeze of %v before", got)
				}
			}
			if name != "by two, after one" { // where the rest of the plan holds
				w.plan(test.wake.planned)
			}
			now, cpu, waited = now.Add(test.wake.elapsed), cpu+test.wake.cpu, waited+test.wake.waited
			if got := w.notice(); got != test.want {
				t.Errorf("frozen for %v, want %v", got, test.want)
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
		if got := w.notice(); got != test.want {
			t.Errorf("%v late: frozen for %v, want %v", test.late, got, test.want)
		}
	}
}
