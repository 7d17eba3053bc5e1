// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

// down refuses everything.
func down(context.Context, string) error {
	return &exporter.RetryError{Err: errors.New("connection refused"), Refused: true}
}

// leave exports profiles that a Queue cannot send, and shuts it down: they are
// kept, with those that were in dir before.
func leave(t *testing.T, dir string, names ...string) {
	t.Helper()
	kept := len(files(t, dir)) + len(names) // later an attempt may be renaming its file
	q := newQueue(t, &destination{send: down}, exporter.WithSpill(dir))
	export(t, q, names...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := q.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d profile(s) kept in %s for the next start", kept, dir)) {
		t.Errorf("Shutdown: %v", err)
	}
	if got := q.Stats(); got.Kept != uint64(kept) || got.Dropped() != 0 {
		t.Errorf("Stats %+v, want %d kept", got, kept)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(name string) bool { return filepath.Base(name) == "spanprof.lock" })
}

func wantFiles(t *testing.T, dir string, n int) {
	t.Helper()
	if got := files(t, dir); len(got) != n {
		t.Errorf("%d files, want %d: %v", len(got), n, got)
	}
}

func TestSpillSurvives(t *testing.T) {
	reports(t)
	dir := filepath.Join(t.TempDir(), "made", "for us")
	synctest.Test(t, func(t *testing.T) {
		leave(t, dir, "a", "b")
		wantFiles(t, dir, 2)
		<-time.After(time.Minute)
		synctest.Wait()
		leave(t, dir) // one start that sends nothing either
		wantFiles(t, dir, 2)
	})
	synctest.Test(t, func(t *testing.T) {
		d := new(destination)
		q := newQueue(t, d, exporter.WithSpill(dir), exporter.WithSpillSync())
		export(t, q, "c")
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		if got := d.names(); len(got) != 3 || got[2] != "c" {
			t.Errorf("taken %q, want a and b, then c", got)
		}
		wantStats(t, q, exporter.LaneStatus{Exported: 3})
		wantFiles(t, dir, 0)
		shutdown(t, q)
	})
}

// Only what was tried before a restart, and perhaps taken, counts as a duplicate.
func TestSpillKnowsWhatWasTried(t *testing.T) {
	reports(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		answers := []error{
			&exporter.RetryError{Err: errors.New("500"), After: time.Second},
			&exporter.RetryError{Err: errors.New("429"), Refused: true, After: time.Second},
			&exporter.RetryError{Err: errors.New("429"), Refused: true, After: time.Second},
			&exporter.RetryError{Err: errors.New("429"), Refused: true, After: time.Minute},
		}
		d := new(destination)
		d.send = func(_ context.Context, name string) error { return answers[len(d.at)-1] }
		q := newQueue(t, d, exporter.WithSpill(dir))
		export(t, q, "perhaps taken, then refused", "refused", "refused", "not tried")
		<-time.After(10 * time.Second)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := q.Shutdown(ctx); err == nil || len(d.at) != 4 {
			t.Errorf("Shutdown after %d attempts: %v", len(d.at), err)
		}
		wantFiles(t, dir, 4)

		q = newQueue(t, new(destination), exporter.WithSpill(dir))
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, q, exporter.LaneStatus{Exported: 4, Duplicates: 1})
		wantFiles(t, dir, 0)
		shutdown(t, q)
	})
}

func TestSpillKeepsTheWindow(t *testing.T) {
	reports(t)
	dir := t.TempDir()
	want := exporter.Window{
		Kind:     exporter.KindHeap,
		Start:    time.Now().Add(-20 * time.Second),
		Duration: 10 * time.Second,
		Resource: resource.NewWithAttributes("https://example.com/schema",
			attribute.String("service.name", "shop <1>"),
			attribute.Bool("bool", true),
			attribute.Int64("int", 1<<62+1),
			attribute.Float64("float", 3),
			attribute.BoolSlice("bools", []bool{true, false}),
			attribute.Int64Slice("ints", []int64{1, 2}),
			attribute.Float64Slice("floats", []float64{1, 2.5}),
			attribute.StringSlice("process.command_args", []string{"a", "b"}),
			attribute.KeyValue{Key: "empty"},
		),
	}
	first := newQueue(t, &destination{send: down}, exporter.WithSpill(dir))
	if err := first.Export(t.Context(), exporter.NewProfile(want, []byte("pprof\nbytes"))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.Shutdown(ctx); err == nil {
		t.Error("Shutdown has sent it")
	}
	noWorkers(t)

	got := make(chan *exporter.Profile, 1)
	second := newQueue(t, receiver(got), exporter.WithSpill(dir))
	p := <-got
	shutdown(t, second)
	if p.Kind() != want.Kind || !p.Start().Equal(want.Start) || p.Duration() != want.Duration {
		t.Errorf("got %v %v %v, want %+v", p.Kind(), p.Start(), p.Duration(), want)
	}
	if !p.Resource().Equal(want.Resource) || p.Resource().SchemaURL() != want.Resource.SchemaURL() {
		t.Errorf("resource %v, want %v", p.Resource(), want.Resource)
	}
	if b, err := p.Pprof(); err != nil || string(b) != "pprof\nbytes" {
		t.Errorf("Pprof() = %q, %v", b, err)
	}
}

// receiver is a Destination that hands the profiles out.
type receiver chan *exporter.Profile

func (r receiver) Send(_ context.Context, p *exporter.Profile) error { r <- p; return nil }
func (r receiver) Shutdown(context.Context) error                    { return nil }

func TestSpillTooOld(t *testing.T) {
	reported := reports(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		leave(t, dir, "a")
		<-time.After(5 * time.Minute)
		q := newQueue(t, &destination{send: down}, exporter.WithSpill(dir), exporter.WithSpillMaxAge(10*time.Minute))
		export(t, q, "b")
		<-time.After(5 * time.Minute)
		synctest.Wait()
		if got := q.Stats(); got.Expired != 1 || got.Waiting != 1 {
			t.Errorf("Stats %+v, want a expired and b waiting", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := q.Shutdown(ctx); err == nil {
			t.Error("Shutdown has sent it")
		}
		wantFiles(t, dir, 1)

		<-time.After(5 * time.Minute)
		synctest.Wait()
		d := new(destination)
		q = newQueue(t, d, exporter.WithSpill(dir), exporter.WithSpillMaxAge(10*time.Minute))
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantTaken(t, d)
		wantStats(t, q, exporter.LaneStatus{Expired: 1})
		wantFiles(t, dir, 0)
		shutdown(t, q)
	})
	if got := reported(); !strings.Contains(strings.Join(got, "\n"), "1 profile(s) dropped: not delivered within 10m0s") {
		t.Errorf("reported %q", got)
	}
}

func TestSpillDamaged(t *testing.T) {
	reported := reports(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		leave(t, dir, "aaaa", "bbbb", "cccc", "dddd")
		all := files(t, dir)
		if err := os.Truncate(all[0], 10); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(all[1])
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-1]++
		if err := os.WriteFile(all[1], b, 0o600); err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(dir, "notes.txt")
		if err := os.WriteFile(other, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		d := &destination{send: func(context.Context, string) error { return os.Remove(all[3]) }}
		q := newQueue(t, d, exporter.WithSpill(dir))
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, q, exporter.LaneStatus{Exported: 1, Unreadable: 3})
		shutdown(t, q)
		want := []string{all[0] + ".damaged", all[1] + ".damaged", other}
		if left := files(t, dir); !slices.Equal(left, want) {
			t.Errorf("files %v, want the one that is not ours, and the damaged set aside", left)
		}
		// The next start leaves them alone.
		q = newQueue(t, d, exporter.WithSpill(dir))
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, q, exporter.LaneStatus{})
		shutdown(t, q)
		wantFiles(t, dir, 3)
	})
	if got := reported(); len(got) < 3 {
		t.Errorf("reported %q", got)
	}
}

func TestSpillBelongsToOneQueue(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first := newQueue(t, new(destination), exporter.WithSpill(dir))
		if _, err := exporter.NewQueue("test", new(destination), exporter.WithSpill(dir)); err == nil || !strings.Contains(err.Error(), "in use already: name another one for each queue") {
			t.Errorf("NewQueue with the directory of another: %v", err)
		}
		shutdown(t, first)
		shutdown(t, newQueue(t, new(destination), exporter.WithSpill(dir)))
		// A Queue that does not come about does not keep the directory.
		m := &meter{fail: errors.New("no counters")}
		if _, err := exporter.NewQueue("test", new(destination), exporter.WithSpill(dir), exporter.WithMeterProvider(meterProvider{meter: m})); err == nil {
			t.Error("no error of the metrics")
		}
		shutdown(t, newQueue(t, new(destination), exporter.WithSpill(dir)))
	})
}

// Starts succeed while another process removes files.
func TestSpillStartsWhileFilesGo(t *testing.T) {
	dir := t.TempDir()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i = (i + 1) % 100 {
			select {
			case <-stop:
				return
			default:
			}
			name := filepath.Join(dir, fmt.Sprintf("%019d-x.spanprof", i))
			_ = os.WriteFile(name, nil, 0o600)
			_ = os.Remove(name)
		}
	}()
	reports(t)
	for range 100 {
		// What it says of the files that it found in time does not matter.
		_ = newQueue(t, new(destination), exporter.WithSpill(dir)).Shutdown(t.Context())
	}
	close(stop)
	<-done
}

// One file that is larger than the Queue does not take the others along.
func TestSpillOversized(t *testing.T) {
	reports(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		leave(t, dir, "a", strings.Repeat("x", 1000), "b")
		d := new(destination)
		q := newQueue(t, d, exporter.WithSpill(dir), exporter.WithMaxBytes(900))
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, q, exporter.LaneStatus{Full: 1, Exported: 2})
		wantFiles(t, dir, 0)
		// With its header the file is larger than the Queue, the profile is not.
		if err := q.Export(t.Context(), named(strings.Repeat("x", 890))); err == nil {
			t.Error("no error")
		}
		wantFiles(t, dir, 0)
		shutdown(t, q)
	})
}

func TestSpillBounded(t *testing.T) {
	reports(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		leave(t, dir, "a", "b", "c", "d")
		q := newQueue(t, &destination{send: down}, exporter.WithSpill(dir), exporter.WithMaxBytes(500))
		for range 10 {
			export(t, q, strings.Repeat("x", 100))
		}
		s := q.Stats()
		if s.Bytes > 500 || s.Full == 0 || s.Full+uint64(s.Waiting) != 14 {
			t.Errorf("Stats %+v", s)
		}
		wantFiles(t, dir, s.Waiting)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Shutdown(ctx); err == nil {
			t.Error("Shutdown has sent it")
		}
	})
}

// A destination that does not listen to its context delivers after Shutdown has
// given up: the next Queue must not do it again.
func TestSpillDeliveredLate(t *testing.T) {
	for _, tt := range []struct {
		outcome error
		want    exporter.LaneStatus
	}{
		{nil, exporter.LaneStatus{Exported: 1, Kept: 1}},
		{&exporter.RetryError{Err: errors.New("500")}, exporter.LaneStatus{Kept: 2}},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			q := newQueue(t, &destination{send: func(context.Context, string) error { <-release; return tt.outcome }}, exporter.WithSpill(dir))
			export(t, q, "a", "b")
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := q.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "2 profile(s) kept") {
				t.Errorf("Shutdown: %v", err)
			}
			close(release)
			synctest.Wait()
			wantStats(t, q, tt.want)
			wantFiles(t, dir, int(tt.want.Kept))
		})
	}
}

// A resource that JSON cannot say does not cost the profile.
func TestSpillOfNaN(t *testing.T) {
	reported := reports(t)
	d := new(destination)
	q := newQueue(t, d, exporter.WithSpill(t.TempDir()))
	w := exporter.Window{Kind: exporter.KindCPU, Resource: resource.NewSchemaless(attribute.Float64("x", math.NaN()))}
	if err := q.Export(t.Context(), exporter.NewProfile(w, []byte("a"))); err != nil {
		t.Fatal(err)
	}
	shutdown(t, q)
	wantTaken(t, d, "a")
	wantStats(t, q, exporter.LaneStatus{Exported: 1, NotSpilled: 1})
	noWorkers(t)
	if got := reported(); len(got) != 1 || !strings.Contains(got[0], "NaN") {
		t.Errorf("reported %q", got)
	}
}

func TestSpillFails(t *testing.T) {
	reported := reports(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := exporter.NewQueue("test", new(destination), exporter.WithSpill(file)); err == nil || !strings.HasPrefix(err.Error(), "test: spill directory: ") {
			t.Errorf("NewQueue with a file for a directory: %v", err)
		}

		gone := filepath.Join(dir, "gone")
		d := new(destination)
		q := newQueue(t, d, exporter.WithSpill(gone))
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
		export(t, q, "a")
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantTaken(t, d, "a")
		wantStats(t, q, exporter.LaneStatus{Exported: 1, NotSpilled: 1})
		shutdown(t, q)
	})
	if got := reported(); len(got) != 1 || !strings.Contains(got[0], "a cpu profile waits in memory") {
		t.Errorf("reported %q", got)
	}
}

// A directory that cannot be written does not have memory take what is meant for a disk:
// the oldest of what waits there make room, and what is in files stays.
func TestSpillBoundsMemory(t *testing.T) {
	reports(t)
	// Not the bubble's own: the queue may still move files there when Shutdown has
	// given up, and until the bubble ends.
	dir := filepath.Join(t.TempDir(), "spill")
	synctest.Test(t, func(t *testing.T) {
		const mib = 1 << 20
		hold := make(chan struct{}) // what is in the file is being sent while there is no directory
		d := &destination{send: func(ctx context.Context, name string) error { <-hold; return down(ctx, name) }}
		q := newQueue(t, d, exporter.WithSpill(dir), exporter.WithMaxBytes(1<<30))
		sized := func(first byte, n int) string { return string(first) + strings.Repeat("x", n-1) }
		export(t, q, sized('f', 40*mib)) // in a file, which may be larger
		synctest.Wait()
		away := dir + ".away"
		if err := os.Rename(dir, away); err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			export(t, q, sized(byte(i), mib))
		}
		if s := q.Stats(); s.Full != 8 || s.NotSpilled != 40 || s.Waiting != 33 || s.Bytes > 73*mib {
			t.Errorf("%+v, want 32 of 40 MiB to wait in memory beside one file", s)
		}
		if err := q.Export(t.Context(), named(sized('l', 33*mib))); err == nil || !strings.Contains(err.Error(), "no room in memory for a cpu profile of 34603008 bytes") {
			t.Errorf("Export of more than may wait in memory: %v", err)
		}
		if err := os.Rename(away, dir); err != nil {
			t.Fatal(err)
		}
		close(hold)
		<-time.After(2 * time.Second)
		synctest.Wait()
		wantFiles(t, dir, 33)
		for i := range 40 {
			export(t, q, sized(byte(i), mib)) // beyond what memory has room for
		}
		if s := q.Stats(); s.Full != 9 || s.NotSpilled != 41 || s.Waiting != 73 {
			t.Errorf("%+v, want that nothing more is dropped once files can be written", s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := q.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "73 profile(s) kept") {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// A process that is killed in the middle of its work loses nothing.
func TestSpillSurvivesKill(t *testing.T) {
	const variable = "SPANPROF_TEST_SPILL_DIR"
	if dir := os.Getenv(variable); dir != "" {
		sending := make(chan struct{})
		q := newQueue(t, &destination{send: func(ctx context.Context, _ string) error {
			close(sending)
			<-ctx.Done()
			return ctx.Err()
		}}, exporter.WithSpill(dir), exporter.WithTimeout(time.Hour))
		export(t, q, "0")
		<-sending
		for i := 1; ; i++ {
			export(t, q, strconv.Itoa(i))
			fmt.Println("exported", i)
		}
	}

	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSpillSurvivesKill$")
	child.Env = append(os.Environ(), variable+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	last := -1
	for last < 100 {
		if _, err := fmt.Fscanf(out, "exported %d\n", &last); err != nil {
			t.Fatal(err)
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()

	d := new(destination)
	q := newQueue(t, d, exporter.WithSpill(dir))
	if err := q.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	shutdown(t, q)
	taken := map[string]bool{}
	for _, name := range d.names() {
		taken[name] = true
	}
	for i := range last + 1 {
		if !taken[strconv.Itoa(i)] {
			t.Errorf("profile %d is lost", i)
		}
	}
	if got := q.Stats(); got.Dropped() != 0 || got.Duplicates != 1 {
		t.Errorf("Stats %+v, want one duplicate, of the attempt that was killed", got)
	}
	// What was being written when it was killed stays for a minute.
	left := slices.DeleteFunc(files(t, dir), func(name string) bool { return strings.HasSuffix(name, ".tmp") })
	if len(left) > 0 {
		t.Errorf("files %v, want none", left)
	}
}
