// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exporter_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

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

func (r receiver) Shutdown(context.Context) error { return nil }

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
