// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// openRoom returns a room with a directory. Errors of files fail the test.
func openRoom(t *testing.T, path string, maxBytes int64) *Room {
	t.Helper()
	r := NewRoom(64<<20, attributes.NewKeys(nil))
	if err := r.WithDirectory(path, maxBytes, func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	<-r.loader.done
	return r
}

// readRoom returns a room that has read a directory. Errors of files fail the test.
func readRoom(t *testing.T, path string, maxBytes int64) *Room {
	t.Helper()
	r := NewRoom(maxBytes, attributes.NewKeys(nil))
	if err := r.OpenDirectory(path, func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	return r
}

// sealNow seals the open segment.
func (r *Room) sealNow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seal()
}

// readWith reads a directory while a file has other contents. It counts the reports.
func readWith(t *testing.T, path, file string, contents []byte) (r *Room, reported int) {
	t.Helper()
	was, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, contents, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r = NewRoom(64<<20, attributes.NewKeys(nil))
	_ = r.OpenDirectory(path, func(error) { reported++ })
	if err := os.WriteFile(file, was, 0o600); err != nil {
		t.Fatal(err)
	}
	return r, reported
}

// fill exports windows with a span each, from a number on.
func fill(t *testing.T, r *Room, from, until int) {
	t.Helper()
	for n := from; n < until; n++ {
		id := ident.Key(n + 1)
		r.End(Ended{
			ID: id, Parent: 7, Trace: trace.TraceID{1}, Name: "GET", Service: "a", Status: "refused", Start: int64(n) * length, Duration: second + int64(n), Kind: trace.SpanKindServer, Err: true, LocalRoot: true,
			Attributes: string(r.keys.Append(nil, []attribute.KeyValue{attribute.String("http.route", "/a")}, "", nil)),
		})
		p := profileOf(row{"main;f", 1, labels("span_id", id.String(), "profile_id", id.String(), "span_name", "GET")}, row{"main;g", 2, labels("profile_id", "job")}, row{"main", 1, labels("ended_span_id", id.String())})
		p.Sample[1].NumLabel = map[string][]int64{"bytes": {512}}
		export(t, r, windowOf(n, exporter.KindCPU, p))
	}
}

// contents are what a room answers.
type contents struct {
	Stacks  map[string]int64
	Spans   []Ended
	Sums    []Sums
	Windows []string
}

func contentsOf(t *testing.T, r *Room) (c contents) {
	t.Helper()
	v := r.View()
	p, err := v.Profile(t.Context(), &Query{Kind: exporter.KindCPU}, false, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Stacks = make(map[string]int64)
	for _, s := range p.Sample {
		c.Stacks[fmt.Sprint(stackOf(s.Location), s.Label, s.NumLabel)] += s.Value[1]
	}
	list, err := v.List(t.Context(), &SpanQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		c.Spans, c.Sums = append(c.Spans, s.Ended), append(c.Sums, s.Sums)
	}
	for _, w := range v.Windows() {
		c.Windows = append(c.Windows, fmt.Sprint(w.Service, w.Start.UnixNano()))
	}
	return c
}

// A process begins with what earlier ones left. What a killed one wrote is there too.
func TestRestart(t *testing.T) {
	path := t.TempDir()
	r := openRoom(t, path, 64<<20)
	fill(t, r, 0, 5)
	r.sealNow()
	fill(t, r, 5, 8)
	before := contentsOf(t, r)
	if r.Flush(t.Context()) != nil {
		t.Fatal("not flushed")
	}
	// Another process reads while the first one runs.
	reader := readRoom(t, path, 64<<20)
	if diff := cmp.Diff(before, contentsOf(t, reader)); diff != "" {
		t.Error("while it runs:", diff)
	}
	beside := openRoom(t, path, 64<<20)
	if n := len(beside.View().Windows()); n != 0 {
		t.Errorf("%d windows of a process that runs were restored", n)
	}
	for _, r := range []*Room{r, beside} {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, started := range []int64{1, time.Now().UnixNano()} { // a killed process, and one that starts
		if err := os.Mkdir(filepath.Join(path, fmt.Sprintf("%s%d-1-x", processPrefix, started)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	next := openRoom(t, path, 64<<20)
	if diff := cmp.Diff(before, contentsOf(t, next)); diff != "" {
		t.Error("after it:", diff)
	}
	if dirs, _ := filepath.Glob(filepath.Join(path, "*")); len(dirs) != 3 {
		t.Errorf("want the first process, the one that starts and this one: %q", dirs)
	}
	list, _ := next.View().List(t.Context(), &SpanQuery{})
	if !list[0].Earlier || next.View().Counts != (Counts{}) {
		t.Errorf("earlier %t, counts %+v", list[0].Earlier, next.View().Counts)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(path, func(path string, e os.DirEntry, err error) error {
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 && path != filepath.Dir(path) && e.Name() != filepath.Base(path) {
			t.Error(path, err)
		}
		return err
	})
}

// Damaged files are reported and left out. The others are read.
func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"flip": func(b []byte) []byte { b[len(b)/2] ^= 0x10; return b },
		"torn": func(b []byte) []byte { return b[:len(b)-3] },
	} {
		path := t.TempDir()
		r := openRoom(t, path, 64<<20)
		fill(t, r, 0, 3)
		whole := contentsOf(t, r)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		found, _ := filepath.Glob(filepath.Join(path, "*", "*", "*.gz"))
		for _, file := range found {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			reader, reported := readWith(t, path, file, damage(b))
			got := contentsOf(t, reader)
			if reported == 0 || len(got.Windows) >= len(whole.Windows) {
				t.Errorf("%s of %s: %d reports, %d windows", name, filepath.Base(file), reported, len(got.Windows))
			}
			for _, e := range got.Spans {
				if !slices.Contains(whole.Spans, e) {
					t.Errorf("%s of %s: %+v", name, filepath.Base(file), e)
				}
			}
		}
		if len(found) != 4 {
			t.Errorf("%d files", len(found))
		}
	}
}

// The oldest segments are removed first. A directory that vanishes is made again. The lock stays,
// and so no other process takes the segments.
func TestDiskBound(t *testing.T) {
	path := t.TempDir()
	r := openRoom(t, path, 12_000)
	for n := range 40 {
		if n == 20 {
			_ = r.Flush(t.Context())
			beside := openRoom(t, path, 12_000)
			if n := len(beside.View().Windows()); n != 0 || r.disk.Counts().Removed == 0 {
				t.Errorf("%d windows of a process that runs were restored", n)
			}
			if err := beside.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(r.disk.dir); err != nil {
				t.Fatal(err)
			}
		}
		fill(t, r, n, n+1)
		r.sealNow()
	}
	_ = r.Flush(t.Context())
	counts := r.disk.Counts()
	if counts.Bytes > 12_000*3/4 || counts.Bytes < 6_000 || counts.Removed < 10 || counts.Failed > 0 {
		t.Errorf("%+v", counts)
	}
	reader := readRoom(t, path, 64<<20)
	windows := reader.View().Windows()
	if len(windows) < 5 || !windows[len(windows)-1].Start.Equal(time.Unix(0, 39*length)) {
		t.Errorf("%d windows", len(windows))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// What waits for the disk has a bound, and what finds no place is counted.
func TestDiskQueue(t *testing.T) {
	reported := 0
	d := &disk{report: func(error) { reported++ }}
	for range 10 {
		d.add(maxWaiting/4, nil)
	}
	set, merged := newSegment(), []savedDir{{path: "a"}}
	d.keep(newSegment(), merged...)
	d.keep(set)
	if d.kept != set || len(d.merged) != 1 {
		t.Errorf("%+v is not the newest kept set", d.kept)
	}
	if len(d.jobs) != 6 || d.counts.Failed != 6 || reported != 6 || d.waiting > maxWaiting {
		t.Errorf("%d jobs, %+v, %d reports", len(d.jobs), d.counts, reported)
	}
}

// Spans wait for the next window in bounded bytes.
func TestUnsavedBound(t *testing.T) {
	path := t.TempDir()
	r := openRoom(t, path, 64<<20)
	for n := range 2000 {
		r.End(Ended{ID: ident.Key(n + 1), Name: "GET", Err: true, Status: strconv.Itoa(n) + strings.Repeat("x", 1000), Start: length, LocalRoot: true})
		waits := 0
		for _, e := range r.unsaved {
			waits += len(e.Status)
		}
		if waits >= maxUnsaved {
			t.Fatalf("%d bytes wait", waits)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	next := openRoom(t, path, 64<<20)
	if list, _ := next.View().List(t.Context(), &SpanQuery{}); len(list) != 2000 {
		t.Errorf("%d of 2,000 spans are read", len(list))
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
}

// A file of spans is read up to its first damaged place. One that lost its last lines is
// damaged too.
func TestTornLines(t *testing.T) {
	path := t.TempDir()
	r := openRoom(t, path, 64<<20)
	fill(t, r, 0, 6)
	r.sealNow()
	fill(t, r, 6, 10)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(path, "*", "*", spansFile))
	for i, file := range found {
		was, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		second := 1 + bytes.Index(was[1:], []byte("\x1f\x8b\x08"))
		damaged := slices.Clone(was)
		damaged[second-20] ^= 1
		for name, c := range map[string]struct {
			b       []byte
			windows int
		}{
			"first member": {damaged, []int{4, 6}[i]}, "only the first is left": {was[:second], []int{5, 7}[i]}, "empty": {nil, []int{4, 6}[i]},
		} {
			reader, reported := readWith(t, path, file, c.b)
			if n := len(reader.View().Windows()); n != c.windows || reported != 1 || reader.View().Unreadable != 1 {
				t.Errorf("%s of %s: %d windows, want %d, %d reports, %d counted", name, file, n, c.windows, reported, reader.View().Unreadable)
			}
		}
	}
	if len(found) != 2 {
		t.Errorf("%d files", len(found))
	}
}

// A segment of spans alone has a bound on the disk and when it is read.
func TestSpansFileBound(t *testing.T) {
	path := t.TempDir()
	const maxBytes = 4 << 20
	r := openRoom(t, path, maxBytes)
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range 100_000 {
		r.End(Ended{ID: ident.Key(rnd.Uint64()), Parent: ident.Key(rnd.Uint64()), Trace: trace.TraceID(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, rnd.Uint64()), rnd.Uint64())), Name: "GET", Start: int64(n), Duration: second})
		if n%4096 == 0 {
			_ = r.Flush(t.Context())
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n := sizeOfAll(t, path); n > maxBytes || n != r.closed.Bytes || r.closed.Failed > 0 {
		t.Errorf("%d bytes in files, %+v", n, r.closed)
	}
	small := readRoom(t, path, 8<<20)
	used := int64(0)
	for _, s := range slices.Backward(small.sealed) {
		if n := s.spans.bytes(); n > max(small.target, small.maxBytes-3*used)/share {
			t.Errorf("%d bytes of spans in a segment before %d others", n, used)
		}
		used += s.bytes()
	}
}

func sizeOfAll(t *testing.T, path string) (n int64) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(path, "*", "*"))
	for _, dir := range found {
		size, _ := countIn(dir)
		n += size
	}
	return n
}

// The kept sets of earlier processes become a part of the newest one. Nothing in them counts
// twice, also if the process died before it removed them.
func TestKeptOfMany(t *testing.T) {
	path, died := t.TempDir(), t.TempDir()
	const maxBytes = 40_000
	for process := range 4 {
		r := openRoom(t, path, maxBytes)
		for n := range 30 {
			r.mu.Lock()
			r.seal()
			if len(r.sealed) > 1 {
				r.dropOldest()
			}
			r.mu.Unlock()
			fill(t, r, 30*process+n, 30*process+n+1)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if n := sizeOfAll(t, path); n > maxBytes || n != r.closed.Bytes {
			t.Errorf("process %d: %d bytes in files, %d counted", process, n, r.closed.Bytes)
		}
		if err := os.CopyFS(filepath.Join(died, strconv.Itoa(process)), os.DirFS(path)); err != nil {
			t.Fatal(err)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(path, "*", keptName)); len(kept) != 1 {
		t.Errorf("%d kept sets", len(kept))
	}
	kept, _ := filepath.Glob(filepath.Join(died, "*", "*", keptName))
	for _, old := range kept {
		_ = os.CopyFS(filepath.Join(path, filepath.Base(filepath.Dir(old)), keptName), os.DirFS(old)) // fails if it is there
	}
	reader := readRoom(t, path, 64<<20)
	c, ids := contentsOf(t, reader), make(map[ident.Key]bool)
	for i, e := range c.Spans {
		if ids[e.ID] || c.Sums[i].CPU != tick {
			t.Errorf("%s: seen %v, %+v", e.ID, ids[e.ID], c.Sums[i])
		}
		ids[e.ID] = true
	}
	if len(kept) < 4 || len(ids) < 40 {
		t.Errorf("%d kept sets, %d spans", len(kept), len(ids))
	}
}

// A kill while a segment and the kept set are removed leaves parts. Nobody reads them, and the
// next process removes them.
func TestKilledWhileItRemoves(t *testing.T) {
	path := t.TempDir()
	r := openRoom(t, path, 64<<20)
	fill(t, r, 0, 3)
	r.sealNow()
	r.mu.Lock()
	r.dropOldest()
	r.mu.Unlock()
	fill(t, r, 3, 5)
	want, dir := contentsOf(t, r), r.disk.dir
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	part, set := filepath.Join(dir, "000000"+gone), filepath.Join(dir, keptName)
	if err := errors.Join(os.Rename(filepath.Join(dir, "000000"), part), os.Remove(filepath.Join(part, spansFile)), os.Rename(set, set+opened), os.CopyFS(set+gone, os.DirFS(part))); err != nil {
		t.Fatal(err)
	}
	next := openRoom(t, path, 64<<20)
	if diff := cmp.Diff(want, contentsOf(t, next)); diff != "" {
		t.Error(diff)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(path, "*", "*"+gone)); len(left) > 0 {
		t.Error(left)
	}
	if err := remove(filepath.Join(dir, "000001"+opened)); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "000001*")); len(left) > 0 {
		t.Error(left)
	}
}
