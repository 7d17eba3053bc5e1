// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/client"
	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
)

// A kind is left out only if the process has another kind: a proxy answers 404 too.
func TestNotFound(t *testing.T) {
	src, err := source.NewTarget("http://shop:6060")
	if err != nil {
		t.Fatal(err)
	}
	var reports []string
	own := newTarget(Config{For: time.Hour, Report: func(text string) { reports = append(reports, text) }}, src)
	missing := func(kind exporter.Kind) error {
		return own.fail(t.Context(), kind, &client.StatusError{Name: string(kind), Code: http.StatusNotFound})
	}
	for _, kind := range source.TargetKinds { // also long after the start
		if err := missing(kind); errors.Is(err, errLeftOut) {
			t.Errorf("%s is left out of a process that is away", kind)
		}
	}
	own.seen[exporter.KindHeap] = true
	if err := missing(exporter.KindBlock); errors.Is(err, errLeftOut) {
		t.Error("block is left out of a process that is away again")
	}
	own.recovered(exporter.KindHeap)
	if err := missing(exporter.KindBlock); !errors.Is(err, errLeftOut) || own.covered[exporter.KindBlock].failed {
		t.Errorf("block of a process without it: %v, %v", err, *own.covered[exporter.KindBlock])
	}
	if err := missing(exporter.KindHeap); errors.Is(err, errLeftOut) {
		t.Error("heap, which it had, is left out")
	}
	if len(reports) != 4 || own.result.Err == nil {
		t.Errorf("%v, reports %q", own.result, reports)
	}
}

// A failure of one kind is reported apart from a failure of the whole process.
func TestIsAway(t *testing.T) {
	for err, want := range map[error]bool{
		io.ErrUnexpectedEOF:      true,
		context.DeadlineExceeded: false,
		client.ErrTooLarge:       false,
	} {
		if got := isAway(&client.UnansweredError{Err: fmt.Errorf("%w 64 MiB", err)}); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
	for code, want := range map[int]bool{404: true, 502: true, 503: true, 504: true, 429: false, 500: false} {
		if got := isAway(&client.StatusError{Code: code}); got != want {
			t.Errorf("status %d: got %v, want %v", code, got, want)
		}
	}
}

// MaxBytes bounds a target, which may restart all the time, and texts of its server. A run is
// reported once.
func TestRuns(t *testing.T) {
	src, err := source.NewTarget("http://shop:6060")
	if err != nil {
		t.Fatal(err)
	}
	reports := 0
	own := newTarget(Config{Dir: t.TempDir(), MaxBytes: 9000, Report: func(string) { reports++ }}, src)
	for _, run := range "aabbabaacd" {
		var b bytes.Buffer
		p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "goroutine", Unit: "count"}}, Mapping: []*profile.Mapping{
			{ID: 1, File: "/bin/" + strings.Repeat("f", 1<<20), BuildID: strings.Repeat("b", 1<<20)}, {ID: 2, File: "[vdso]", Start: uint64(run) << 12},
		}}
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := own.write(t.Context(), exporter.KindGoroutine, time.Now(), b.Bytes(), p); err != nil {
			t.Fatal(err)
		}
	}
	profiles, err := filepath.Glob(filepath.Join(own.result.Dir, "*", "*.pprof.gz"))
	if err != nil || len(profiles) == 0 || len(profiles) == 10 || reports != 3 || len(own.runs) != 4 {
		t.Errorf("%d profiles, %d reports of %d runs, %v", len(profiles), reports, len(own.runs), err)
	}
	if n := len(own.recording.Resource); n != 2 {
		t.Errorf("%d attributes, want no name of the executable", n)
	}
	if err := own.files.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// A profile without a vDSO is of the run before it, if its build is the same.
func TestRunsWithoutVDSO(t *testing.T) {
	for profiles, want := range map[string]int{"b1 b b1": 1, "b b1 b": 1, "b b": 1, "b b1 b2": 2, "b1 c c1 c": 2, "b1 c b1": 2} {
		src, err := source.NewTarget("http://shop:6060")
		if err != nil {
			t.Fatal(err)
		}
		reports := 0
		own := newTarget(Config{Report: func(string) { reports++ }}, src)
		for name := range strings.FieldsSeq(profiles) {
			p := &profile.Profile{Mapping: []*profile.Mapping{{ID: 1, BuildID: name[:1]}}}
			if len(name) > 1 {
				p.Mapping = append(p.Mapping, &profile.Mapping{ID: 2, File: "[vdso]", Start: uint64(name[1])})
			}
			own.see(p)
		}
		if len(own.runs) != want || reports != want-1 {
			t.Errorf("%s: %d runs, %d reports, want %d runs", profiles, len(own.runs), reports, want)
		}
	}
}
