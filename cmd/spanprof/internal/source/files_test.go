// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
)

// made is a profile with one sample, of a run of a process on Linux.
type made struct {
	types  []string
	period string
	values []int64
	vdso   uint64
	at     time.Time
	length time.Duration
}

func (m made) profile() *profile.Profile {
	mapping := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, File: "/shop", BuildID: "abc"}
	function := &profile.Function{ID: 1, Name: "main.work"}
	location := &profile.Location{ID: 1, Mapping: mapping, Address: 0x400100, Line: []profile.Line{{Function: function, Line: 7}}}
	p := &profile.Profile{
		PeriodType: &profile.ValueType{Type: m.period, Unit: "nanoseconds"}, Period: 1e7,
		Mapping:  []*profile.Mapping{mapping},
		Function: []*profile.Function{function}, Location: []*profile.Location{location},
		DurationNanos: m.length.Nanoseconds(),
	}
	if !m.at.IsZero() {
		p.TimeNanos = m.at.UnixNano()
	}
	if m.vdso != 0 {
		p.Mapping = append(p.Mapping, &profile.Mapping{ID: 2, Start: m.vdso, Limit: m.vdso + 0x2000, File: "[vdso]"})
	}
	for _, name := range m.types {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name})
	}
	if m.values != nil {
		p.Sample = []*profile.Sample{{Location: []*profile.Location{location}, Value: m.values}}
	}
	return p
}

func (m made) bytes(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.profile().Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// read returns the profiles of a SOURCE, and the first error.
func read(t *testing.T, arg string, kinds ...exporter.Kind) (all []*source.Profile, first error) {
	t.Helper()
	s, err := source.Parse(arg)
	if err != nil {
		return nil, err
	}
	kind := exporter.Kind("")
	if len(kinds) > 0 {
		kind = kinds[0]
	}
	skip := func(err error) {
		if first == nil {
			first = err
		}
	}
	err = s.Read(t.Context(), kind, skip, func(p *source.Profile) error {
		all = append(all, p)
		return nil
	})
	if first == nil {
		first = err
	}
	return all, first
}

var (
	begin      = time.Date(2026, 11, 21, 13, 4, 5, 0, time.UTC)
	cpuTypes   = []string{"samples", "cpu"}
	heapTypes  = []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}
	mutexTypes = []string{"contentions", "delay"}
)

// name is the name of a file of the file exporter, some seconds after begin.
func name(seconds int, rest string) string {
	return begin.Add(time.Duration(seconds)*time.Second).Format("20060102T150405.000000000Z") + "-" + rest + ".pprof.gz"
}

// A directory of the file exporter has the runs of one process after another.
func TestRunsInADirectory(t *testing.T) {
	dir := t.TempDir()
	for i, vdso := range []uint64{0x7f01, 0x7f01, 0x7f02} {
		at := begin.Add(time.Duration(i) * 10 * time.Second)
		write(t, filepath.Join(dir, name(10*i, "my-shop-cpu")), made{types: cpuTypes, period: "cpu", values: []int64{1, 2}, vdso: vdso, at: at, length: 10 * time.Second}.bytes(t))
		// What is counted in a window has its end.
		write(t, filepath.Join(dir, name(10*i, "my-shop-mutex")), made{types: mutexTypes, values: []int64{1, 2}, vdso: vdso, at: at.Add(10 * time.Second)}.bytes(t))
		write(t, filepath.Join(dir, name(10*i, "my-shop-wall")), made{types: []string{"wall"}, values: []int64{1}, at: at, length: 10 * time.Second}.bytes(t))
	}
	write(t, filepath.Join(dir, "spanprof.lock"), nil)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	profiles, err := read(t, link)
	if err != nil || len(profiles) != 9 {
		t.Fatalf("%d profiles, %v", len(profiles), err)
	}
	for i, p := range profiles {
		if want := begin.Add(time.Duration(i/3) * 10 * time.Second); !p.Start().Equal(want) || p.Duration() != 10*time.Second {
			t.Errorf("%s from %v on for %v, want %v", p.Kind(), p.Start(), p.Duration(), want)
		}
		if first := profiles[0].Replica; first == "" || (p.Replica == first) != (i < 6) {
			t.Errorf("profile %d, %s, is of replica %q", i, p.Kind(), p.Replica)
		}
		if service, _ := p.Resource().Set().Value("service.name"); service.AsString() != "my-shop" {
			t.Errorf("service %q", service.AsString())
		}
	}
	for _, arg := range []string{filepath.Join(dir, "*-wall.pprof.gz"), filepath.Join(dir, "*-cpu.pprof.gz")} {
		if profiles, err := read(t, arg); err != nil || len(profiles) != 3 {
			t.Errorf("%s: %d profiles, %v", arg, len(profiles), err)
		}
	}
	if profiles, err = read(t, dir, exporter.KindWall); err != nil || len(profiles) != 3 || profiles[0].Replica != "" {
		t.Errorf("wall alone: %d profiles, %v", len(profiles), err)
	}
}

// Files that count since the process began are subtracted, each directory apart.
func TestRecordedDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, run := range []string{"a", "b"} {
		r := source.Recording{Target: "http://a/", Resource: map[string]string{"service.name": "shop", "config": "x"}}
		if err := os.Mkdir(filepath.Join(dir, run), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := r.Write(filepath.Join(dir, run)); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			at := begin.Add(time.Duration(i) * time.Minute)
			n := int64(i * i)
			if run == "a" {
				write(t, filepath.Join(dir, run, name(60*i, "shop-heap")), made{types: heapTypes, values: []int64{100 + n, 1000 + n, 5, 50 + n}, vdso: 7, at: at}.bytes(t))
			}
			write(t, filepath.Join(dir, run, name(60*i, "shop-mutex")), made{types: mutexTypes, values: []int64{10 + n, 7}, vdso: 7, at: at}.bytes(t))
		}
	}
	profiles, err := read(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range profiles {
		parsed, err := p.Parsed()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(filepath.Base(filepath.Dir(p.Name)), " ", p.Kind(), " ", p.Start().Sub(begin), " ", p.Duration(), " ", parsed.Sample[0].Value))
		for key, want := range map[string]string{"service.name": "shop", "config": "x"} {
			if value, _ := p.Resource().Set().Value(attribute.Key(key)); value.AsString() != want {
				t.Errorf("%s is %q", key, value.AsString())
			}
		}
		if p.Replica != profiles[0].Replica || !strings.HasPrefix(p.Replica, dir+" ") {
			t.Errorf("%s is of %q", p.Name, p.Replica)
		}
	}
	want := []string{
		"a heap 0s 1m0s [1 1 5 51]", "a mutex 0s 1m0s [1 0]", "a heap 1m0s 1m0s [3 3 5 54]", "a mutex 1m0s 1m0s [3 0]",
		"b mutex 0s 1m0s [1 0]", "b mutex 1m0s 1m0s [3 0]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("profiles\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	for why, m := range map[string]made{
		"less":        {types: mutexTypes, values: []int64{1, 7}, vdso: 7},
		"another run": {types: mutexTypes, values: []int64{100, 7}, vdso: 8},
	} {
		for i := range 2 { // the first is the base of the second
			m.at = begin.Add(time.Hour * time.Duration(1+i))
			m.values[1] += int64(i)
			write(t, filepath.Join(dir, "b", name(3600*(1+i), "shop-mutex")), m.bytes(t))
		}
		profiles, err := read(t, filepath.Join(dir, "b"))
		if err != nil || len(profiles) != 3 || profiles[2].Duration() != time.Hour {
			t.Errorf("%s: %d profiles, %v", why, len(profiles), err)
		}
	}
	write(t, filepath.Join(dir, "a", source.RecordingFile), []byte("{"))
	if _, err := read(t, filepath.Join(dir, "a")); err == nil || !strings.HasPrefix(err.Error(), filepath.Join(dir, "a", source.RecordingFile)) {
		t.Errorf("damaged description: %v", err)
	}
}

// A recording may begin with CPU profiles that lack the vDSO. They are of the run that others name.
func TestRecordingWithoutVDSO(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	for i, vdso := range []uint64{0, 0, 7, 0, 8} {
		m := made{types: cpuTypes, period: "cpu", values: []int64{1, 2}, vdso: vdso, at: begin.Add(time.Duration(i) * time.Minute)}
		write(t, filepath.Join(dir, name(60*i, "shop-cpu")), m.bytes(t))
	}
	if err := (source.Recording{}).Write(dir); err != nil {
		t.Fatal(err)
	}
	profiles, err := read(t, dir)
	if err != nil || len(profiles) != 5 {
		t.Fatalf("%d profiles, %v", len(profiles), err)
	}
	for i, p := range profiles {
		if (p.Replica == profiles[2].Replica) != (i < 4) {
			t.Errorf("profile %d is of %q", i, p.Replica)
		}
	}
}

func TestBadFiles(t *testing.T) {
	whole := made{types: cpuTypes, period: "cpu", values: []int64{1, 2}}
	for want, data := range map[string][]byte{
		"it has no bytes":                   {},
		"not a profile in the pprof format": []byte("this is text"),
		"cut off":                           whole.bytes(t)[:len(whole.bytes(t))/2],
		"gzip: invalid checksum":            append(whole.bytes(t)[:len(whole.bytes(t))-8], 1, 2, 3, 4, 5, 6, 7, 8),
		"it has no columns":                 made{}.bytes(t),
	} {
		dir := t.TempDir()
		bad, good := filepath.Join(dir, "bad.pprof.gz"), filepath.Join(dir, "good.pprof.gz")
		write(t, bad, data)
		write(t, good, whole.bytes(t))
		profiles, err := read(t, dir)
		if err == nil || !strings.HasPrefix(err.Error(), bad+": ") || !strings.Contains(err.Error(), want) || len(profiles) != 1 {
			t.Errorf("%d profiles, %v, want %q", len(profiles), err, want)
		}
	}

	dir := t.TempDir()
	heap := filepath.Join(dir, "x.pprof")
	write(t, heap, made{types: heapTypes, values: []int64{1, 2, 3, 4}}.bytes(t))
	const want = exporter.KindCPU
	if _, err := read(t, heap, want); err == nil || err.Error() != heap+": a heap profile, want cpu" {
		t.Errorf("a file of another kind: %v", err)
	}
	if profiles, err := read(t, dir, want); err != nil || len(profiles) != 0 {
		t.Errorf("a directory with another kind: %d profiles, %v", len(profiles), err)
	}
	for arg, want := range map[string]string{
		filepath.Join(dir, "none"):   "no such file",
		filepath.Join(dir, "*.none"): "no file has such a name",
		filepath.Join(dir, "[x"):     "syntax error",
		t.TempDir():                  "no profiles are there",
	} {
		if _, err := read(t, arg); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), arg) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}
