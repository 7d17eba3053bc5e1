// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// known skips where the package may not be used.
func known(t *testing.T) {
	t.Helper()
	if err := goruntime.Unknown(); err != nil {
		t.Skip(err)
	}
}

// ended returns a Log that takes no samples.
func ended(hz int) *Log {
	l := New(hz, nil)
	l.ended = true
	l.open.begin(0, l.clock)
	l.open.end = int64(time.Second)
	return l
}

// anyTime is no bound of times.
var anyTime = span{0, math.MaxInt64}

// samplesOf counts the samples of a function.
func samplesOf(p *profile.Profile, function string) (n int64) {
	for _, s := range p.Sample {
		for _, loc := range s.Location {
			if len(loc.Line) > 0 && strings.HasSuffix(loc.Line[len(loc.Line)-1].Function.Name, function) {
				n += s.Value[0]
				break
			}
		}
	}
	return n
}

// counted returns the samples of a profile: their counts by the function of
// the leaf.
func counted(t *testing.T, l *Log) map[string]int64 {
	t.Helper()
	p, err := l.Cut()
	if err != nil {
		t.Error(err)
	}
	if err := p.Profile.CheckValid(); err != nil {
		t.Error(err)
	}
	counts := map[string]int64{}
	for _, s := range p.Profile.Sample {
		name := "none"
		if len(s.Location) > 0 && len(s.Location[0].Line) > 0 {
			name = s.Location[0].Line[0].Function.Name
		}
		name = name[strings.LastIndexByte(name, '.')+1:]
		counts[name] += s.Value[0]
		if s.Value[1] != s.Value[0]*p.Profile.Period {
			t.Errorf("%s: %v with a period of %d", name, s.Value, p.Profile.Period)
		}
	}
	return counts
}

func TestAddSumsRecords(t *testing.T) {
	known(t)
	l := ended(97)
	a := uint64(funcPC(TestAddSumsRecords)) + 1
	b := uint64(funcPC(TestAddRefusesWhatItDoesNotKnow)) + 1
	l.open.add([]uint64{
		5, 0, 1, a, b,
		4, 0, 1, b,
		5, 0, 2, a, b,
		4, 0, 0, 7, // seven samples lost
	}, make([]*goruntime.LabelSet, 4), anyTime)
	want := map[string]int64{"TestAddSumsRecords": 3, "TestAddRefusesWhatItDoesNotKnow": 1, "lostProfileEvent": 7}
	if diff := cmp.Diff(want, counted(t, l)); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{}, counted(t, l)); diff != "" {
		t.Errorf("samples after Cut (-want +got):\n%s", diff)
	}
}

// A mapping has functions if all locations have, as in runtime/pprof.
func TestMappingHasFunctions(t *testing.T) {
	known(t)
	for name, test := range map[string]struct {
		header uint64 // samples in the file's header, where no function is
		want   bool
	}{
		"all":  {0, true},
		"some": {1, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := ended(97)
			l.loaded = mappings()
			pc := uint64(funcPC(TestMappingHasFunctions)) + 1
			i := slices.IndexFunc(l.loaded, func(m *profile.Mapping) bool { return m.Start <= pc && pc < m.Limit })
			if i < 0 && runtime.GOOS != "linux" {
				t.Skip("not every system tells a process its mappings, as runtime/pprof asks for them")
			}
			l.open.add([]uint64{4, 0, 1, pc}, make([]*goruntime.LabelSet, 1), anyTime)
			for range test.header {
				l.open.add([]uint64{4, 0, 1, l.loaded[i].Start + 2}, make([]*goruntime.LabelSet, 1), anyTime)
			}
			l.open.add([]uint64{4, 0, 1, pc + 1}, make([]*goruntime.LabelSet, 1), anyTime)
			p, err := l.Cut()
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Profile.Sample[0].Location[0].Mapping.HasFunctions; got != test.want {
				t.Errorf("HasFunctions is %t", got)
			}
		})
	}
}

// Records that another Go version could write are an error once, and do not stop
// what follows.
func TestAddRefusesWhatItDoesNotKnow(t *testing.T) {
	known(t)
	pc := uint64(funcPC(known)) + 1
	for _, records := range [][]uint64{{2, 0}, {9, 0, 1, pc}, {0}, {4, 0, 1, pc, 4, 0, 1, pc}, {4, 1, 1 << 40, pc}} {
		l := ended(100)
		l.open.add(records, make([]*goruntime.LabelSet, 1), anyTime)
		if _, err := l.Cut(); !errors.Is(err, ErrRecord) {
			t.Errorf("%d: %v, want ErrRecord", records, err)
		}
		l.open.add([]uint64{4, 0, 1, pc}, make([]*goruntime.LabelSet, 1), anyTime)
		if diff := cmp.Diff(map[string]int64{"known": 1}, counted(t, l)); diff != "" {
			t.Errorf("samples after %d (-want +got):\n%s", records, diff)
		}
	}
}

// The clocks of two cores can differ by a little. The time of a record moves by that difference. More is nonsense.
func TestAddToleratesDisorder(t *testing.T) {
	known(t)
	pc := uint64(funcPC(known)) + 1
	within := span{int64(10 * time.Second), int64(20 * time.Second)}
	for at, want := range map[time.Duration]struct {
		at  time.Duration // 0: refused
		err error
	}{
		10*time.Second - 1: {10 * time.Second, nil},
		15 * time.Second:   {15 * time.Second, nil},
		20*time.Second + 1: {20 * time.Second, nil},
		9*time.Second - 1:  {0, ErrRecord},
		21*time.Second + 1: {0, ErrRecord},
		-time.Second:       {0, ErrRecord},
		math.MaxInt64:      {0, ErrRecord},
	} {
		l := ended(100)
		l.open.begin(within.from, l.clock)
		l.open.add([]uint64{4, uint64(at), 1, pc}, make([]*goruntime.LabelSet, 1), within)
		var got time.Duration
		for _, e := range l.open.entries {
			got = time.Duration(e.times[0])
		}
		if _, err := l.Cut(); !errors.Is(err, want.err) || got != want.at {
			t.Errorf("a sample at %v is at %v: %v", at, got, err)
		}
	}
}

// The time that our own signals take is sampled too, with their stack: what there is more
// of than signals.
func TestTakeCountsTheTimeOfPokes(t *testing.T) {
	known(t)
	l := ended(100)
	deepStack := append([]uint64{4 + 64, 0, 1, uint64(pokeEntry) + 1}, slices.Repeat([]uint64{uint64(funcPC(known)) + 1}, 64)...)
	l.signals.sent.Store(2)
	for range 5 {
		l.take(deepStack, make([]*goruntime.LabelSet, 1), mark{})
	}
	p, err := l.Cut()
	if err != nil {
		t.Fatal(err)
	}
	if got := samplesOf(p.Profile, "cpulog.poke"); got != 3 || len(p.Profile.Sample) != 1 || len(p.Profile.Sample[0].Location) > pokeLeaves+1 {
		t.Errorf("%d samples, want 3, of one short stack: %v", got, p.Profile.Sample)
	}
}

// Where the runtime has no room for records, records of our signals are no samples.
func TestAddCountsNoSignalsAsLost(t *testing.T) {
	known(t)
	l := ended(100)
	poke := []uint64{4, 0, 1, uint64(pokeEntry) + 1}
	noRoom := func(n uint64) []uint64 { return []uint64{4, 0, 0, n} }
	take := func(records []uint64) { l.take(records, make([]*goruntime.LabelSet, 1), mark{}) }
	l.signals.sent.Store(5)
	take(poke)
	take(noRoom(7)) // four of them are signals, as far as is known
	take(poke)      // it was not one of those
	l.signals.sent.Add(3)
	take(noRoom(2))
	take(poke)
	if diff := cmp.Diff(map[string]int64{"lostProfileEvent": 3, "poke": 1}, counted(t, l)); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// Signals that have made no record by the next mark, because something else handled them,
// hide no samples later.
func TestTakeSettlesSignalsWithoutRecords(t *testing.T) {
	known(t)
	l := ended(100)
	poke := []uint64{4, 0, 1, uint64(pokeEntry) + 1}
	l.signals.sent.Store(100)
	m := mark{poked: true, sent: 100}
	l.signals.sent.Add(1) // the mark's
	for range 3 {
		l.take(poke, make([]*goruntime.LabelSet, 1), m)
	}
	// The first may be one that was on its way when the mark was made.
	if diff := cmp.Diff(map[string]int64{"poke": 1}, counted(t, l)); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// Stacks that nowhere have an address of Go code are none. Records of C threads may be.
func TestAddRefusesWhatIsNoCode(t *testing.T) {
	known(t)
	foreign := []uint64{4, 0, 1, 16}
	for _, test := range []struct {
		before, after int     // foreign stacks before and after one of Go code, if any
		code          uintptr // where that begins, which can be our own signal's
		want          error
	}{
		{maxForeign - 1, 0, 0, nil},
		{maxForeign, 0, 0, ErrRecord},
		{maxForeign - 1, maxForeign, funcPC(known), nil},
		{maxForeign - 1, maxForeign, pokeEntry, nil},
	} {
		l := ended(100)
		records := slices.Repeat(foreign, test.before)
		if test.code != 0 {
			records = append(records, 4, 0, 1, uint64(test.code)+1)
		}
		records = append(records, slices.Repeat(foreign, test.after)...)
		l.take(records, make([]*goruntime.LabelSet, len(records)/len(foreign)), mark{})
		if _, err := l.Cut(); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// Stacks that have their hash in common stay apart.
func TestCountOfEqualHashes(t *testing.T) {
	known(t)
	l := ended(100)
	stack := []uint64{uint64(funcPC(known)) + 1}
	l.open.count(stack, nil, 0, 1)
	for k, e := range l.open.entries {
		e.stack = []uintptr{funcPC(counted) + 1} // as if another had come first
		l.open.entries[k] = e
	}
	l.open.count(stack, nil, 0, 2)
	l.open.count(stack, nil, 0, 4)
	if diff := cmp.Diff(map[string]int64{"counted": 1, "known": 6}, counted(t, l)); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// The header has the rate of the samples.
func TestHeader(t *testing.T) {
	known(t)
	pc := uint64(funcPC(known)) + 1
	for _, test := range []struct {
		header []uint64
		period time.Duration
		err    error
	}{
		{[]uint64{3, 0, 100}, 10 * time.Millisecond, nil},
		{[]uint64{3, 0, 500}, 2 * time.Millisecond, nil},
		{[]uint64{3, 0, 0}, 10 * time.Millisecond, ErrRecord},
		{[]uint64{4, 0, 500}, 10 * time.Millisecond, ErrRecord},
	} {
		l := ended(100)
		rest := l.open.header(append(test.header, 4, 0, 2, pc))
		if test.err == nil {
			l.open.add(rest, make([]*goruntime.LabelSet, 1), anyTime)
		}
		p, err := l.Cut()
		if !errors.Is(err, test.err) || p.Profile.Period != int64(test.period) {
			t.Errorf("%d: a period of %d, %v, want %v, %v", test.header, p.Profile.Period, err, test.period, test.err)
		}
		for _, s := range p.Profile.Sample {
			if s.Value[0] != 2 || s.Value[1] != 2*int64(test.period) {
				t.Errorf("%d: a sample of %v", test.header, s.Value)
			}
		}
	}
}

// A program that makes the same labels for each request does not fill the memory.
func TestCountMergesEqualLabels(t *testing.T) {
	known(t)
	l := ended(100)
	stack := []uint64{uint64(funcPC(known)) + 1}
	for range 3 {
		for _, set := range [][]string{{"a", "1"}, {"a", "1", "b", "2"}, {"a1", ""}} {
			pprof.Do(t.Context(), pprof.Labels(set...), func(context.Context) {
				l.open.count(stack, goruntime.GoroutineLabels(), 0, 1)
			})
		}
	}
	if got := len(l.open.entries); got != 3 {
		t.Errorf("%d entries, want 3", got)
	}
	if diff := cmp.Diff(map[string]int64{"known": 9}, counted(t, l)); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// What there is no room for is counted.
func TestCountIsBounded(t *testing.T) {
	known(t)
	l := ended(100)
	stack := []uint64{uint64(funcPC(known)) + 1, 0}
	for i := range uint64(maxEntries) {
		stack[1] = i + 1
		l.open.count(stack, nil, 0, 1)
	}
	l.open.count([]uint64{1}, nil, 0, 3)
	l.open.count(stack, nil, 0, 1) // is there already
	if got := l.open.dropped; got != 3 || len(l.open.entries) != maxEntries {
		t.Errorf("%d samples dropped and %d entries, want 3 and %d", got, len(l.open.entries), maxEntries)
	}
	_, err := l.Cut()
	if dropped := (*DroppedError)(nil); !errors.As(err, &dropped) || dropped.Samples != 3 || !strings.Contains(err.Error(), "3 are in no profile") {
		t.Errorf("%v, want that 3 are missing", err)
	}
}

// A cut is asked for before samples are dropped, once for each part.
func TestFull(t *testing.T) {
	known(t)
	l := ended(100)
	take := func(n int) (full bool) {
		var records []uint64
		for i := range n {
			records = append(records, 5, 0, 1, uint64(funcPC(known))+1, uint64(len(l.open.entries)+i+1))
		}
		l.take(records, make([]*goruntime.LabelSet, n), mark{})
		select {
		case <-l.Full():
			return true
		default:
			return false
		}
	}
	for range 2 {
		if take(fullEntries - 1) {
			t.Error("full before it is")
		}
		for range 2 {
			if !take(1) {
				t.Error("not full when it is")
			}
		}
		// The token of this one is taken away by the cut.
		l.take([]uint64{5, 0, 1, uint64(funcPC(known)) + 1, 1 << 20}, make([]*goruntime.LabelSet, 1), mark{})
		if _, err := l.Cut(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzAdd(f *testing.F) {
	f.Add([]byte{4, 0, 1, 1}, 1)
	f.Fuzz(func(t *testing.T, words []byte, labels int) {
		known(t)
		records := make([]uint64, len(words))
		for i, w := range words {
			records[i] = uint64(w)
		}
		l := ended(100)
		l.open.add(records, make([]*goruntime.LabelSet, max(0, min(labels, 100))), anyTime)
		if p, _ := l.Cut(); p.Profile.CheckValid() != nil {
			t.Error(p.Profile.CheckValid())
		}
	})
}

// Times are bounded, and those that are left are spread over all.
func TestTimesAreBounded(t *testing.T) {
	known(t)
	l := ended(100)
	stack := []uint64{uint64(funcPC(known)) + 1}
	const n = maxTimes + maxTimes/2
	for i := range int64(n) {
		l.open.count(stack, nil, i, 1)
	}
	p, err := l.Cut()
	if err != nil {
		t.Fatal(err)
	}
	got := p.Times[0]
	if p.Profile.Sample[0].Value[0] != n || len(got) > maxTimes || len(got) < maxTimes/2 {
		t.Errorf("%d times of %d samples", len(got), p.Profile.Sample[0].Value[0])
	}
	late := 0
	for _, at := range got {
		if at-p.Start.UnixNano() >= n/2 {
			late++
		}
	}
	if share := float64(late) / float64(len(got)); share < 0.45 || share > 0.55 {
		t.Errorf("%.2f of the times are of the second half", share)
	}
}
