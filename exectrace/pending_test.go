// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func TestSlowness(t *testing.T) {
	if s := (&slowness{threshold: time.Second}); s.slow("a", time.Second-1) || !s.slow("a", time.Second) {
		t.Error("a threshold of 1s is not one")
	}

	s, random := &slowness{}, rand.New(rand.NewPCG(1, 2))
	slow := map[string]int{}
	const spans = 50_000
	for i := range spans {
		// Of each name one in 50 takes longer; of those of "slow" all take longer than all
		// of "quick".
		for _, name := range []string{"quick", "slow"} {
			unit := map[string]time.Duration{"quick": 50 * time.Microsecond, "slow": time.Second}[name]
			d := unit + time.Duration(random.Int64N(int64(unit)))
			if random.IntN(50) == 0 {
				d *= 10 + time.Duration(random.Int64N(100))
			}
			if i < leastSpans && s.slow(name, d) {
				t.Fatalf("span %d of %q is slow", i, name)
			} else if i >= leastSpans && s.slow(name, d) {
				slow[name]++
			}
		}
	}
	for name, n := range slow {
		if n < spans/400 || n > spans/60 {
			t.Errorf("%d of %d spans %q are slow, want about one in 100", n, spans, name)
		}
	}
	if len(slow) != 2 {
		t.Errorf("slow are %v", slow)
	}
	for range 1000 {
		if s.slow("always the same", time.Second) {
			t.Fatal("a span that took as long as all others is slow")
		}
	}
}

// Of more names than have room, the others have a p99 together.
func TestSlownessIsBounded(t *testing.T) {
	s := &slowness{}
	for i := range 10 * maxSlowNames {
		s.slow(fmt.Sprint("GET /", i), time.Millisecond)
	}
	if len(s.names) != maxSlowNames || !s.slow("GET /new", time.Second) {
		t.Errorf("%d names are told apart, want %d; the others have %d spans", len(s.names), maxSlowNames, s.others.total)
	}
}

func TestPending(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1e9, 0).Add(time.Duration(s * float64(time.Second))) }
	span := func(ended, seconds float64) slowSpan {
		return slowSpan{id: fmt.Sprint(ended), ended: at(ended), duration: time.Duration(seconds * float64(time.Second))}
	}
	due := func(p *pending, want float64) {
		t.Helper()
		if got, ok := p.due(); !ok || !got.Equal(at(want)) {
			t.Errorf("due at %v, %t, want %v", got.Sub(at(0)), ok, at(want).Sub(at(0)))
		}
	}
	p := &pending{window: 5 * time.Second, closed: true}
	if got := p.add(span(0, 1)); got != notRecording {
		t.Errorf("while closed: outcome %d", got)
	}
	p.open()
	p.add(span(10, 0.1))
	due(p, 11) // a second for others
	p.add(span(10.5, 4.6))
	due(p, 10.8) // before its start leaves the window
	p.add(span(10.6, 5.5))
	due(p, 10.7) // it began before, and may be in the recording
	if got := p.take(); len(got) != 3 {
		t.Errorf("%d spans were taken, want 3", len(got))
	}
	if got := p.add(span(11, 0.1)); got != countless {
		t.Errorf("a span that ends before the next reading begins: outcome %d", got)
	}
	if got := p.notBefore(at(21)); got != 1 {
		t.Errorf("%d of the spans that wait are too late, want that one", got)
	}
	if got := p.add(span(12, 0.1)); got != tooSoon {
		t.Errorf("a span that leaves the window before the next reading: outcome %d", got)
	}
	if got := p.add(span(16.15, 0.1)); got != tooSoon {
		t.Errorf("one that leaves it just then: outcome %d", got)
	}
	if got := p.add(span(17, 0.1)); got != countless {
		t.Errorf("one that does not: outcome %d", got)
	}
	due(p, 21)
	for range maxPending - 1 {
		p.add(span(18, 0.2))
	}
	if got := p.add(span(19, 0.3)); got != tooMany {
		t.Errorf("one too many: outcome %d", got)
	}
	if p.spans[0].duration == 100*time.Millisecond || p.close() != maxPending {
		t.Error("the shortest did not make room")
	}
}

// Of the spans that wait again and those that have come in the meantime, the slowest wait.
func TestGiveBack(t *testing.T) {
	p := &pending{window: 5 * time.Second}
	now := time.Now()
	span := func(i int) slowSpan {
		return slowSpan{ended: now, duration: time.Duration(i) * time.Millisecond}
	}
	for i := range maxPending {
		p.add(span(i))
	}
	taken := p.take()
	p.add(span(maxPending)) // slower than any before
	if dropped := p.giveBack(taken); dropped != 1 {
		t.Errorf("%d spans have no room, want 1", dropped)
	}
	waits := p.take()
	for _, s := range waits {
		if s.duration == 0 {
			t.Error("the quickest waits")
		}
	}
	if len(waits) != maxPending {
		t.Errorf("%d spans wait, want %d", len(waits), maxPending)
	}
}
