// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// namesOfWindow is a window in a file of spans.
type namesOfWindow struct {
	File  string       `json:"file"`
	Names []namedSpans `json:"names"`
}

type namedSpans struct {
	Service string `json:"service,omitempty"`
	Name    string `json:"name"`
	Spans   int64  `json:"spans"`
}

// manyNames returns n names of a window, each of one span.
func manyNames(file string, n int) namesOfWindow {
	w := namesOfWindow{File: file}
	for i := range n {
		w.Names = append(w.Names, namedSpans{fmt.Sprint("service", i%3), fmt.Sprint("GET ", file, i), 1})
	}
	return w
}

// writeNames writes a file of spans.
func writeNames(t *testing.T, path string, windows ...namesOfWindow) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	err = json.NewEncoder(z).Encode(map[string]any{"format": "spanprof spans", "version": 1, "windows": windows})
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// Names of earlier windows are bounded as those of this process are: the others count as
// "other", and it is said how many these are.
func TestDirectoryNamesAreBounded(t *testing.T) {
	quietErrors(t)
	const names, strange = 20_000, 5
	dir := t.TempDir()
	first := openStore(t, dir)
	endSpan(first, "GET /", 0.1, 0.9, nil)
	export(t, first, inWindow(0, exporter.KindCPU, cpuProfile(sample{"main", 1, nil})))
	shutdown(t, first)
	window, spans := runFiles(t, dir, "*-cpu.pprof.gz")[0], runFiles(t, dir, "*Z-spans.jsonl.gz")[0]
	writeNames(t, spans, manyNames(filepath.Base(window), names))
	for i := range strange { // windows that are not there
		file := fmt.Sprintf("20990101T000000.0000000%02dZ-spans.jsonl.gz", i)
		writeNames(t, filepath.Join(filepath.Dir(spans), file), manyNames(fmt.Sprint("strange", i), names))
	}
	second := openStore(t, dir)
	sum, others := 0, 0
	totals := second.NameTotals()
	for _, total := range totals {
		sum += total.Spans
		if total.Name == "other" {
			others += total.Spans
		}
	}
	if len(totals) > 1300 || sum != names || others == 0 {
		t.Errorf("%d names of %d spans, %d of them other; want at most 1300 names, %d spans, some other", len(totals), sum, others, names)
	}
	d := second.Stats().Directory
	if least := names - 1300; d.NamesLeftOut < least || d.Windows != 1 || d.FilesSetAside+d.FilesUnreadable != 0 {
		t.Errorf("%+v, want at least %d names without room", d, least)
	}
}

// Counts of windows that were not read yet take no more memory than there is room for, and
// no span is left out.
func TestCountsOfWaitingWindowsAreBounded(t *testing.T) {
	const room = 1 << 20
	held, left := store.HoldCounts(room, 100, 1000)
	if held > room+64<<10 || held < room/2 || left == 0 {
		t.Errorf("%d bytes are held and %d names are left out, want about %d bytes and some names", held, left, room)
	}
}
