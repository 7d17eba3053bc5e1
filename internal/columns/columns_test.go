// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// newProfile returns a profile with one sample. Columns are written as type/unit.
func newProfile(period, columns string, values ...int64) *profile.Profile {
	p := &profile.Profile{Period: 1e7}
	valueType := func(text string) *profile.ValueType {
		name, unit, _ := strings.Cut(text, "/")
		return &profile.ValueType{Type: name, Unit: unit}
	}
	if period != "" {
		p.PeriodType = valueType(period)
	}
	for text := range strings.FieldsSeq(columns) {
		p.SampleType = append(p.SampleType, valueType(text))
	}
	f := &profile.Function{ID: 1, Name: "main.work"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	p.Function, p.Location = []*profile.Function{f}, []*profile.Location{l}
	p.Sample = []*profile.Sample{{Location: p.Location, Value: values}}
	return p
}

func describe(parts []Part) string {
	var all []string
	for _, part := range parts {
		text := part.Kind + ":"
		for i, t := range part.Profile.SampleType {
			text += fmt.Sprintf(" %d %s/%s", part.Profile.Sample[0].Value[i], t.Type, t.Unit)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// The columns are as the profilers write them.
func TestSplit(t *testing.T) {
	for _, test := range []struct {
		tool, file, period, columns string
		values                      []int64
		want                        string
	}{
		{"runtime/pprof", "", "cpu/nanoseconds", "samples/count cpu/nanoseconds", []int64{3, 3e7}, "cpu: 3 samples/count 30000000 cpu/nanoseconds"},
		{"runtime/pprof", "", "space/bytes", "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes", []int64{1, 2, 3, 4}, "heap: 1 alloc_objects/count 2 alloc_space/bytes 3 inuse_objects/count 4 inuse_space/bytes"},
		{"runtime/pprof", "before.pprof", "contentions/count", "contentions/count delay/nanoseconds", []int64{1, 2}, "contention: 1 contentions/count 2 delay/nanoseconds"},
		{"runtime/pprof", "shop-mutex.pprof", "contentions/count", "contentions/count delay/nanoseconds", []int64{1, 2}, "mutex: 1 contentions/count 2 delay/nanoseconds"},
		{"runtime/pprof", "mutex-block.pprof", "contentions/count", "contentions/count delay/nanoseconds", []int64{1, 2}, "block: 1 contentions/count 2 delay/nanoseconds"},
		{"runtime/pprof", "", "threadcreate/count", "threadcreate/count", []int64{5}, "threadcreate: 5 threadcreate/count"},
		{"runtime/pprof", "", "goroutine/count", "goroutine/count", []int64{5}, "goroutine: 5 goroutine/count"},
		{"pyroscope-go", "", "", "goroutines/count", []int64{5}, "goroutine: 5 goroutine/count"},
		{"spanprof", "x-shop-host.pprof.gz", "cpu/nanoseconds", "samples/count cpu/nanoseconds", []int64{3, 3e7}, "host: 3 samples/count 30000000 cpu/nanoseconds"},
		{"fgprof", "", "wallclock/nanoseconds", "samples/count time/nanoseconds", []int64{3, 3e7}, "wall: 3 samples/count 30000000 wall/nanoseconds"},
		{"Parca", "", "cpu/nanoseconds", "samples/count", []int64{3}, "cpu: 3 samples/count 30000000 cpu/nanoseconds"},
		{"gperftools", "", "cpu/microseconds", "samples/count", []int64{3}, "cpu: 3 samples/count 30000000000 cpu/nanoseconds"},
		{"a counter", "", "", "samples/count", []int64{3}, "other_samples: 3 samples/count"},
		{"gperftools", "", "cpu/microseconds", "samples/count cpu/microseconds", []int64{3, 30}, "cpu: 3 samples/count 30000 cpu/nanoseconds"},
		{"Xcode", "", "", "Samples/Count CPU/ms", []int64{3, 30}, "other_samples: 3 Samples/Count; cpu: 30000000 cpu/nanoseconds"},
		{"py-spy", "", "wall/nanoseconds", "samples/count wall/nanoseconds", []int64{3, 30}, "wall: 3 samples/count 30 wall/nanoseconds"},
		{"node", "", "wall/microseconds", "sample/count wall/microseconds", []int64{3, 3e6}, "wall: 3 samples/count 3000000000 wall/nanoseconds"},
		{"node", "", "space/bytes", "objects/count space/bytes", []int64{3, 300}, "heap: 3 inuse_objects/count 300 inuse_space/bytes"},
		{"Datadog for Python", "", "", "cpu-time/nanoseconds cpu-samples/count wall-time/nanoseconds wall-samples/count alloc-space/bytes alloc-samples/count exception-samples/count", []int64{1, 2, 3, 4, 5, 6, 7}, "cpu: 1 cpu/nanoseconds 2 samples/count; wall: 3 wall/nanoseconds 4 samples/count; heap: 5 alloc_space/bytes 6 alloc_objects/count; other_exception_samples: 7 exception-samples/count"},
		{"async-profiler", "", "", "alloc_in_new_tlab_objects/count alloc_in_new_tlab_bytes/bytes alloc_outside_tlab_objects/count alloc_outside_tlab_bytes/bytes", []int64{1, 10, 2, 20}, "heap: 3 alloc_objects/count 30 alloc_space/bytes"},
		{".NET", "", "", "lock_count/count lock_time/nanoseconds exceptions/count", []int64{1, 2, 3}, "contention: 1 contentions/count 2 delay/nanoseconds; other_exceptions: 3 exceptions/count"},
		{"perf_to_profile", "", "", "cycles_sample/count cycles_event/count", []int64{1, 2}, "other_cycles_sample: 1 cycles_sample/count; other_cycles_event: 2 cycles_event/count"},
		{"a tool with another unit", "", "", "cpu/count alloc_space/KB", []int64{1, 2}, "other_cpu: 1 cpu/count; heap: 2048 alloc_space/bytes"},
		{"a tool without units", "", "", "samples cpu alloc_space", []int64{1, 2, 3}, "cpu: 1 samples/count 2 cpu/nanoseconds; heap: 3 alloc_space/bytes"},
		{"too large", "", "", "cpu/seconds", []int64{math.MaxInt64}, fmt.Sprintf("cpu: %d cpu/nanoseconds", int64(math.MaxInt64))},
		{"too small", "", "", "cpu/seconds", []int64{math.MinInt64}, fmt.Sprintf("cpu: %d cpu/nanoseconds", -int64(math.MaxInt64))},
	} {
		p := newProfile(test.period, test.columns, test.values...)
		before := p.String()
		if got := describe(Split(p, test.file)); got != test.want {
			t.Errorf("%s: got %s, want %s", test.tool, got, test.want)
		}
		if p.String() != before {
			t.Errorf("%s: the profile was changed", test.tool)
		}
	}
}

// A profile that needs no change is not copied. Otherwise, the period has the new unit.
// Samples without a value in any column of a part are left out.
func TestSplitCopies(t *testing.T) {
	p := newProfile("cpu/nanoseconds", "samples/count cpu/nanoseconds", 1, 2)
	if got := Split(p, ""); got[0].Profile != p {
		t.Error("a usual profile was copied")
	}
	p = newProfile("CPU/milliseconds", "cpu/milliseconds wall/milliseconds", 1, 0)
	p.DefaultSampleType = "wall"
	parts := Split(p, "")
	if cpu := parts[0].Profile; cpu.Period != 1e13 || cpu.PeriodType.Type != "cpu" || cpu.PeriodType.Unit != "nanoseconds" || cpu.DefaultSampleType != "" {
		t.Errorf("cpu: %v", cpu)
	}
	if wall := parts[1].Profile; len(wall.Sample) != 0 || wall.DefaultSampleType != "wall" {
		t.Errorf("wall: %v", wall)
	}
}

func TestUnit(t *testing.T) {
	for unit, want := range map[string]string{
		"ns": "1 nanoseconds", "us": "1000 nanoseconds", "µs": "1000 nanoseconds", "Microseconds": "1000 nanoseconds", "ms": "1000000 nanoseconds",
		"millisecond": "1000000 nanoseconds", "s": "1000000000 nanoseconds", "seconds": "1000000000 nanoseconds", "B": "1 bytes", "KB": "1024 bytes",
		"kilobytes": "1024 bytes", "MiB": "1048576 bytes", "GB": "1073741824 bytes", "count": "1 count", "": "1 ", "Cycles": "1 Cycles",
	} {
		if base, factor := Unit(unit); fmt.Sprint(factor, " ", base) != want {
			t.Errorf("%s: got %d %s, want %s", unit, factor, base, want)
		}
	}
}

func TestSaturates(t *testing.T) {
	const most = math.MaxInt64
	got := []int64{add(most, 1), add(most-1, 1), add(-most, -1), add(-most+1, -1), add(3, -5), Mul(most/2, 3), Mul(-most/2, 3), Mul(-4, 3), Mul(0, most)}
	if want := []int64{most, most, -most, -most, -2, most, -most, -12, 0}; !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
}

// The sum of all values of a column is bounded, also over several profiles.
func TestTotal(t *testing.T) {
	total := Total{}
	p := newProfile("", "cpu/nanoseconds samples/count", math.MaxInt64, -5)
	p.Sample = append(p.Sample, &profile.Sample{Value: []int64{-7, 5}})
	if !total.Add(CPU, p) || p.Sample[0].Value[0] != MaxSum || p.Sample[1].Value[0] != 0 || p.Sample[0].Value[1] != -5 {
		t.Errorf("got %v", p)
	}
	if p = newProfile("", "samples/count", 3); total.Add(CPU, p) || p.Sample[0].Value[0] != 3 || total[[2]string{CPU, "samples"}] != 13 {
		t.Errorf("got %v, total %v", p, total)
	}
	if p = newProfile("", "cpu/nanoseconds", 3); !total.Add(CPU, p) || total.Add(Host, newProfile("", "cpu/nanoseconds", 3)) {
		t.Errorf("got %v, total %v", p, total)
	}
	if p = newProfile("", "cpu/nanoseconds", math.MinInt64); !(Total{}).Add(CPU, p) || p.Sample[0].Value[0] != -MaxSum {
		t.Errorf("got %v", p)
	}
}
