// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// writeSpan writes a file with one span.
func writeSpan(t *testing.T, path, id string, duration time.Duration) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	_, err = fmt.Fprintf(z, `{"format":"spanprof spans","version":1}
{"trace_id":"0000000000000000%[1]s","span_id":"%[1]s","name":"GET /","start_ns":%[2]d,"duration_ns":%[3]d}
`, id, epoch.UnixNano(), duration)
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// Of a service that has crashed again and again all is there; of the oldest processes it is not
// known which one left what.
func TestDirectoryOfManyRuns(t *testing.T) {
	quietErrors(t)
	const runs, toldApart = 300, 254
	dir := t.TempDir()
	first := openStore(t, dir)
	export(t, first, inWindow(0, exporter.KindCPU, cpuProfile(sample{"main", 1, nil})))
	shutdown(t, first)
	window := runFiles(t, dir, "*-cpu.pprof.gz")[0]
	data, err := os.ReadFile(window)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(window)); err != nil {
		t.Fatal(err)
	}
	id := func(run int) string { return fmt.Sprintf("%016x", run) }
	for run := 1; run <= runs; run++ {
		started := epoch.Add(time.Duration(run) * time.Minute).Format("20060102T150405.000000000Z")
		path := filepath.Join(dir, fmt.Sprintf("%s-run-%06d-%08x", started, run, run))
		if err := errors.Join(os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, filepath.Base(window)), data, 0o600)); err != nil {
			t.Fatal(err)
		}
		kind := "-spans"
		if run%2 == 0 { // it was among the slowest
			kind = "-kept-spans"
		}
		writeSpan(t, filepath.Join(path, started+kind+".jsonl.gz"), id(run), time.Duration(runs-run+1)*time.Millisecond)
	}
	wantSpans := func(s *store.Store, last int) {
		t.Helper()
		for run := 1; run <= last; run++ {
			span := spanWithID(t, s, id(run))
			if span.Earlier == nil || span.Earlier.Started.IsZero() != (run <= runs-toldApart) {
				t.Fatalf("the span of run %d is of %+v", run, span.Earlier)
			}
		}
	}
	second := openStore(t, dir)
	wantSpans(second, runs)
	d := second.Stats().Directory
	if d.Windows != runs || d.Spans != runs || d.ProcessesNotToldApart != runs-toldApart || d.WindowsLeftOut+d.SpanFilesLeftOut != 0 {
		t.Errorf("%+v, want all of %d runs, %d of them not told apart", d, runs, runs-toldApart)
	}
	older := 0
	for _, w := range second.Windows(store.WindowQuery{}) {
		if w.Earlier == nil {
			t.Fatalf("%+v", w)
		}
		if w.Earlier.Started.IsZero() {
			older++
		}
	}
	if older != runs-toldApart {
		t.Errorf("%d windows are of processes that are not told apart, want %d", older, runs-toldApart)
	}
	shutdown(t, second)

	// The slowest are written again as what they are.
	removeWindows(t, dir)
	third := openStore(t, dir)
	wantSpans(third, 5)
}
