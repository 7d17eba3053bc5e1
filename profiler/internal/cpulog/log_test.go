// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !spanprof_public

package cpulog

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/internal/marker"
	"github.com/spanprof/spanprof/internal/stacks"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// fixed returns a Log without a runtime behind it. Cut has all samples.
func fixed() *Log {
	l := New(nil)
	l.over = true
	l.readAt = l.nano
	return l
}

// take counts records, each with a label set.
func (l *Log) takeAll(records ...uint64) { l.take(records, make([]*goruntime.LabelSet, 100)) }

// A location with a marker has only its other functions, inlined ones.
func TestMarkers(t *testing.T) {
	pcs := make([]uintptr, 50)
	marker.Do(t.Context(), "GET /", func(context.Context) { pcs = pcs[:runtime.Callers(1, pcs)] })
	log := fixed()
	digit := slices.IndexFunc(pcs, func(pc uintptr) bool {
		_, _, low := marker.Digit(log.symbols.Frames([]uintptr{pc})[0].Function)
		return low
	})
	p := new(profile.Profile)
	b := &builder{log: log, profile: p}
	b.stacks = stacks.New(p, log.symbols.Split, b.location)
	if l := b.location(pcs[digit : digit+1]); l != nil {
		t.Errorf("a digit: got %v, want none", l.Line)
	}
	if l := b.location([]uintptr{pcs[0], pcs[digit]}); l == nil || len(l.Line) != 1 || !strings.Contains(l.Line[0].Function.Name, "TestMarkers") {
		t.Errorf("work that is inlined into a digit: got %v, want its function", l)
	}
}

// counted returns the samples of a profile by the function of the leaf.
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

func TestTakeSumsRecords(t *testing.T) {
	l := fixed()
	a, b := uint64(funcPC(TestTakeSumsRecords))+1, uint64(funcPC(fixed))+1
	l.takeAll(
		5, 0, 1, a, b,
		4, 0, 1, b,
		5, 0, 2, a, b,
		4, 0, 0, 7, // seven samples lost
	)
	want := map[string]int64{"TestTakeSumsRecords": 3, "fixed": 1, "lostProfileEvent": 7}
	if diff := cmp.Diff(want, counted(t, l)); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{}, counted(t, l)); diff != "" {
		t.Errorf("samples after Cut (-want +got):\n%s", diff)
	}
}

// A mapping has functions if all locations have, as in runtime/pprof.
func TestMappingHasFunctions(t *testing.T) {
	for name, test := range map[string]struct {
		header uint64 // samples in the file's header, where no function is
		want   bool
	}{
		"all":  {0, true},
		"some": {1, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := fixed()
			l.loaded = mappings()
			pc := uint64(funcPC(TestMappingHasFunctions)) + 1
			i := slices.IndexFunc(l.loaded, func(m *profile.Mapping) bool { return m.Start <= pc && pc < m.Limit })
			if i < 0 && runtime.GOOS != "linux" {
				t.Skip("runtime/pprof has no mappings on this system")
			}
			l.takeAll(4, 0, 1, pc)
			for range test.header {
				l.takeAll(4, 0, 1, l.loaded[i].Start+2)
			}
			l.takeAll(4, 0, 1, pc+1)
			p, err := l.Cut()
			if err != nil {
				t.Fatal(err)
			}
			at := p.Profile.Sample[0].Location[0]
			if m := at.Mapping; m.HasFunctions != test.want || at.Address < m.Start || m.Limit <= at.Address {
				t.Errorf("the mapping of %#x is %+v", at.Address, m)
			}
		})
	}
}

// Records of another form are an error once, and later records count.
func TestTakeRefusesOtherForms(t *testing.T) {
	pc := uint64(funcPC(fixed)) + 1
	for _, records := range [][]uint64{{2, 0}, {9, 0, 1, pc}, {0}, {4, 1, 1 << 40, pc}, {4, math.MaxInt64, 1, pc}} {
		l := fixed()
		l.takeAll(records...)
		if _, err := l.Cut(); !errors.Is(err, ErrRecord) {
			t.Errorf("%d: %v, want ErrRecord", records, err)
		}
		l.takeAll(4, 0, 1, pc)
		if diff := cmp.Diff(map[string]int64{"fixed": 1}, counted(t, l)); diff != "" {
			t.Errorf("samples after %d (-want +got):\n%s", records, diff)
		}
	}
}

// Stacks without any address of Go code are an error. Some records of C threads are not.
func TestTakeRefusesOtherStacks(t *testing.T) {
	foreign := []uint64{4, 0, 1, 16}
	for _, test := range []struct {
		before, after int  // foreign stacks before and after one of Go code
		code          bool // whether there is one
		want          error
	}{
		{maxForeign - 1, 0, false, nil},
		{maxForeign, 0, false, ErrRecord},
		{maxForeign - 1, maxForeign, true, nil},
	} {
		l := fixed()
		for i := range test.before + test.after {
			if test.code && i == test.before {
				l.takeAll(4, 0, 1, uint64(funcPC(fixed))+1)
			}
			l.takeAll(foreign...)
		}
		if _, err := l.Cut(); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// The header has the rate of the samples.
func TestHeader(t *testing.T) {
	pc := uint64(funcPC(fixed)) + 1
	for _, test := range []struct {
		header []uint64
		period time.Duration
		err    error
	}{
		{[]uint64{3, 0, 100}, 10 * time.Millisecond, nil},
		{[]uint64{3, 0, 500}, 2 * time.Millisecond, nil},
		{[]uint64{3, 0, 0}, 10 * time.Millisecond, ErrRecord},
		{[]uint64{4, 0, 500, 1}, 10 * time.Millisecond, ErrRecord},
	} {
		l := fixed()
		l.header = true
		l.takeAll(append(test.header, 4, 0, 2, pc)...)
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

// Equal labels, made again for each request, share an entry.
func TestCountMergesEqualLabels(t *testing.T) {
	l := fixed()
	stack := []uint64{uint64(funcPC(fixed)) + 1}
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
	if diff := cmp.Diff(map[string]int64{"fixed": 9}, counted(t, l)); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// Samples without room are counted.
func TestCountIsBounded(t *testing.T) {
	l := fixed()
	stack := []uint64{uint64(funcPC(fixed)) + 1, 0}
	for i := range uint64(maxEntries) {
		stack[1] = i + 1
		l.open.count(stack, nil, 0, 1)
	}
	l.open.count([]uint64{1}, nil, 0, 3)
	l.open.count(stack, nil, 0, 1) // has an entry
	if got := l.open.dropped; got != 3 || len(l.open.entries) != maxEntries {
		t.Errorf("%d samples dropped and %d entries, want 3 and %d", got, len(l.open.entries), maxEntries)
	}
	_, err := l.Cut()
	if err == nil || !strings.Contains(err.Error(), "3 are in no profile") {
		t.Errorf("%v, want that 3 are missing", err)
	}
}

// Full has a token before samples are dropped, once for each part.
func TestFull(t *testing.T) {
	l := fixed()
	take := func(n int) (full bool) {
		for i := range n {
			l.open.count([]uint64{uint64(funcPC(fixed)) + 1, uint64(len(l.open.entries) + i + 1)}, nil, 0, 1)
		}
		l.takeAll()
		select {
		case <-l.Full():
			return true
		default:
			return false
		}
	}
	for range 2 {
		if take(fullEntries - 1) {
			t.Error("full one entry too early")
		}
		if !take(1) {
			t.Error("not full")
		}
		l.takeAll() // makes another token, which Cut removes
		if _, err := l.Cut(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzTake(f *testing.F) {
	f.Add([]byte{4, 0, 1, 1}, 1)
	f.Fuzz(func(t *testing.T, words []byte, labels int) {
		records := make([]uint64, len(words))
		for i, w := range words {
			records[i] = uint64(w)
		}
		l := fixed()
		l.take(records, make([]*goruntime.LabelSet, max(0, min(labels, 100))))
		if p, _ := l.Cut(); p.Profile.CheckValid() != nil {
			t.Error(p.Profile.CheckValid())
		}
	})
}
