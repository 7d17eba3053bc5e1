// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package columns gives the columns of pprof profiles one set of names and units, and
// recognises what they measure.
package columns

import (
	"math"
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// What columns measure, as in package exporter, and more. Contention is waiting for mutexes or
// channels: their columns are the same. Other begins the kind of any other column, before its
// name.
const (
	CPU        = "cpu"
	Wall       = "wall"
	Host       = "host"
	Heap       = "heap"
	Goroutine  = "goroutine"
	Mutex      = "mutex"
	Block      = "block"
	Contention = "contention"
	Threads    = "threadcreate"
	Other      = "other_"
)

const (
	nanoseconds = "nanoseconds"
	bytes       = "bytes"
	count       = "count"
	samples     = "samples"
)

// column is what a column measures, with its usual name and unit.
type column struct{ kind, name, unit string }

var (
	cpu          = column{CPU, CPU, nanoseconds}
	wall         = column{Wall, Wall, nanoseconds}
	inuseSpace   = column{Heap, "inuse_space", bytes}
	inuseObjects = column{Heap, "inuse_objects", count}
	allocSpace   = column{Heap, "alloc_space", bytes}
	allocObjects = column{Heap, "alloc_objects", count}
	waits        = column{Contention, "contentions", count}
	waiting      = column{Contention, "delay", nanoseconds}
)

// known are the columns of profilers for Go, the JVM, .NET, Python, Node, Ruby and C++. Names
// are in lower case and have underscores.
var known = map[string][]column{
	"cpu": {cpu}, "cpu_time": {cpu}, "on_cpu": {cpu}, "cpu_samples": {{CPU, samples, count}},
	"wall": {wall}, "time": {wall}, "wall_time": {wall}, "wallclock": {wall}, "wall_samples": {{Wall, samples, count}},
	"inuse_space": {inuseSpace}, "inuse_objects": {inuseObjects}, "space": {inuseSpace}, "objects": {inuseObjects},
	"heap_space": {inuseSpace}, "heap_live_size": {inuseSpace}, "heap_live_samples": {inuseObjects},
	"alloc_space": {allocSpace}, "alloc_objects": {allocObjects}, "alloc_size": {allocSpace}, "alloc_bytes": {allocSpace}, "alloc_samples": {allocObjects},
	"alloc_in_new_tlab_bytes": {allocSpace}, "alloc_in_new_tlab_objects": {allocObjects},
	"alloc_outside_tlab_bytes": {allocSpace}, "alloc_outside_tlab_objects": {allocObjects},
	"alloc": {allocSpace, allocObjects}, "allocations": {allocObjects, allocSpace},
	"goroutine": {{Goroutine, Goroutine, count}}, "goroutines": {{Goroutine, Goroutine, count}},
	"contentions": {waits}, "lock_count": {waits}, "mutex_count": {waits}, "block_count": {waits},
	"delay": {waiting}, "lock_time": {waiting}, "lock_duration": {waiting}, "mutex_duration": {waiting}, "block_duration": {waiting},
	"threadcreate": {{Threads, Threads, count}},
}

// Part is the columns of a profile that have one kind.
type Part struct {
	Kind    string
	Profile *profile.Profile
}

// source is where a column of a part comes from.
type source struct {
	column
	from   int
	factor int64
}

// Split returns the profile by kind, each with usual names and units, in the order of the
// columns. name is a file or an address: it distinguishes mutex from block profiles, and the
// CPU time that a host measured. p is not changed. Parts share its locations and labels, and a
// profile that needs no change is its own part. Values saturate.
func Split(p *profile.Profile, name string) []Part {
	found := make([]source, len(p.SampleType))
	has := map[string]bool{}
	for i, t := range p.SampleType {
		found[i] = find(p, i, t)
		has[found[i].name] = true
	}
	period := &profile.ValueType{}
	if p.PeriodType != nil {
		period = p.PeriodType
	}
	unit, factor := Unit(period.Unit)
	var every int64 // nanoseconds of CPU time between samples, if known
	if strings.EqualFold(period.Type, CPU) && unit == nanoseconds {
		every = Mul(max(0, p.Period), factor)
	}
	for i := range found {
		c := &found[i]
		switch {
		case c.name == samples && c.kind == "": // belongs to the time beside it
			switch {
			case has[CPU]:
				c.kind = CPU
			case has[Wall]:
				c.kind = Wall
			case every > 0:
				c.kind = CPU
				found = append(found, source{cpu, c.from, every}) // c is not used any more
			default:
				c.kind = Other + samples
			}
		case c.kind == Contention:
			for _, kind := range []string{Mutex, Block} {
				if named(name, kind) || strings.EqualFold(period.Type, kind) {
					c.kind = kind
				}
			}
		}
	}
	for i := range found {
		if found[i].kind == CPU && named(name, Host) {
			found[i].kind = Host
		}
	}
	var parts []Part
	for i, c := range found {
		if slices.ContainsFunc(found[:i], func(other source) bool { return other.kind == c.kind }) {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(found), func(other source) bool { return other.kind != c.kind })
		parts = append(parts, Part{c.kind, part(p, of)})
	}
	return parts
}

// find returns what column i measures. An empty unit is the usual one. The kind of a number of
// samples is still open.
func find(p *profile.Profile, i int, t *profile.ValueType) source {
	unit, factor := Unit(t.Unit)
	name := strings.NewReplacer("-", "_", " ", "_", ".", "_").Replace(strings.ToLower(t.Type))
	if (name == samples || name == "sample") && (unit == count || unit == "") {
		return source{column{"", samples, count}, i, 1}
	}
	for _, c := range known[name] {
		if c.unit == unit || unit == "" {
			return source{c, i, factor}
		}
	}
	return source{column{Other + clean(name), t.Type, unit}, i, factor}
}

// clean returns a name that a query can have.
func clean(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), 60)]
}

// part returns the profile with these columns. Columns with one name are added.
func part(p *profile.Profile, of []source) *profile.Profile {
	if len(of) == len(p.SampleType) && !slices.ContainsFunc(of, func(c source) bool {
		t := p.SampleType[c.from]
		return t.Type != c.name || t.Unit != c.unit || c.factor != 1
	}) {
		return p
	}
	all := &profile.Profile{
		Mapping: p.Mapping, Location: p.Location, Function: p.Function, Comments: p.Comments, DocURL: p.DocURL, DropFrames: p.DropFrames, KeepFrames: p.KeepFrames,
		TimeNanos: p.TimeNanos, DurationNanos: p.DurationNanos, Period: p.Period,
	}
	places := make([]int, len(of))
	for i, c := range of {
		places[i] = slices.IndexFunc(all.SampleType, func(t *profile.ValueType) bool { return t.Type == c.name && t.Unit == c.unit })
		if places[i] < 0 {
			places[i] = len(all.SampleType)
			all.SampleType = append(all.SampleType, &profile.ValueType{Type: c.name, Unit: c.unit})
		}
		if p.SampleType[c.from].Type == p.DefaultSampleType {
			all.DefaultSampleType = c.name
		}
	}
	if t := p.PeriodType; t != nil {
		unit, factor := Unit(t.Unit)
		all.PeriodType, all.Period = &profile.ValueType{Type: strings.ToLower(t.Type), Unit: unit}, Mul(p.Period, factor)
	}
	for _, s := range p.Sample {
		values, some := make([]int64, len(all.SampleType)), false
		for i, c := range of {
			v := Mul(s.Value[c.from], c.factor)
			values[places[i]], some = add(values[places[i]], v), some || v != 0
		}
		if some || len(of) == len(p.SampleType) {
			sample := *s
			sample.Value = values
			all.Sample = append(all.Sample, &sample)
		}
	}
	return all
}

// Index returns the column with a name, -1 if absent.
func Index(p *profile.Profile, name string) int {
	return slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == name })
}

// named reports whether a word of the last part of name is the kind. A service's name may
// have such a word too. So only the last word that is a kind counts.
func named(name, kind string) bool {
	words := strings.FieldsFunc(strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/"))), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	for _, word := range slices.Backward(words) {
		switch word {
		case CPU, Host, Mutex, Block:
			return word == kind
		}
	}
	return false
}

// MaxSum is the largest sum of a column that Total allows: 73 years in nanoseconds.
const MaxSum = math.MaxInt64 / 4

// Total is the sum of the sizes of all values by kind and column.
type Total map[[2]string]int64

// Add adds a profile. It makes values smaller if a sum is above MaxSum, and returns whether it
// did.
func (t Total) Add(kind string, p *profile.Profile) (cut bool) {
	for i, column := range p.SampleType {
		key := [2]string{kind, column.Type}
		for _, s := range p.Sample {
			v, left := s.Value[i], MaxSum-t[key]
			if v > left || v < -left {
				cut = true
				s.Value[i] = left
				if v < 0 {
					s.Value[i] = -left
				}
			}
			t[key] += max(s.Value[i], -s.Value[i])
		}
	}
	return cut
}

// units are the units of time and memory in profiles, in lower case. They lack the s of a
// plural.
var units = map[string]struct {
	base   string
	factor int64
}{
	"n": {nanoseconds, 1}, "nanosecond": {nanoseconds, 1}, "u": {nanoseconds, 1e3}, "µ": {nanoseconds, 1e3}, "μ": {nanoseconds, 1e3}, "microsecond": {nanoseconds, 1e3},
	"m": {nanoseconds, 1e6}, "millisecond": {nanoseconds, 1e6}, "": {nanoseconds, 1e9}, "second": {nanoseconds, 1e9}, "sec": {nanoseconds, 1e9},
	"b": {bytes, 1}, "byte": {bytes, 1}, "kb": {bytes, 1 << 10}, "kib": {bytes, 1 << 10}, "kilobyte": {bytes, 1 << 10}, "kibibyte": {bytes, 1 << 10},
	"mb": {bytes, 1 << 20}, "mib": {bytes, 1 << 20}, "megabyte": {bytes, 1 << 20}, "mebibyte": {bytes, 1 << 20},
	"gb": {bytes, 1 << 30}, "gib": {bytes, 1 << 30}, "gigabyte": {bytes, 1 << 30}, "gibibyte": {bytes, 1 << 30},
}

// Unit returns nanoseconds or bytes for a unit of time or memory, and the factor for its
// values. Any other unit is returned unchanged, with the factor 1.
// As in google/pprof, a kilobyte has 1024 bytes.
func Unit(unit string) (base string, factor int64) {
	if unit == nanoseconds || unit == bytes || unit == count || unit == "" {
		return unit, 1
	}
	if u, ok := units[strings.TrimSuffix(strings.ToLower(unit), "s")]; ok {
		return u.base, u.factor
	}
	return unit, 1
}

// Mul returns v times factor, which is positive. It saturates.
func Mul(v, factor int64) int64 {
	switch {
	case v > math.MaxInt64/factor:
		return math.MaxInt64
	case v < -math.MaxInt64/factor:
		return -math.MaxInt64
	}
	return v * factor
}

// add returns the sum of a and b. It saturates.
func add(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < -math.MaxInt64-b:
		return -math.MaxInt64
	}
	return a + b
}
