// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
)

// After the restart the page has what was slow before, marked in HTML's data and in text.
func TestPageAfterRestart(t *testing.T) {
	dir := t.TempDir()
	tp, res := newTracerProvider(t)
	opts := []inprocess.Option{inprocess.WithProfilerOptions(profiler.WithResource(res)), inprocess.WithStoreOptions(store.WithDirectory(dir, directoryBytes)), inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(time.Hour))}
	first, err := inprocess.Start(tp, opts...)
	if err != nil {
		t.Fatal(err)
	}
	settle := func() {
		if err := first.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	span := untilSampled(t, first, settle, func(d time.Duration) string {
		_, span := tp.Tracer("").Start(t.Context(), "GET /slow")
		work(d)
		span.End()
		return span.SpanContext().SpanID().String()
	})
	if err := first.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := inprocess.Start(tp, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := second.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	restored(t, second.Store())
	pid := strconv.Itoa(os.Getpid())
	for path, wants := range map[string][]string{
		"/?format=text": {"GET /slow [earlier process]", span.ProfileID},
		"/?format=json": {`"earlier":{"started":"`, `"pid":` + pid, `"service":"shop"`},
		"/?format=text&query=.cpu%7Bprofile_id=%22" + span.ProfileID + "%22%7D": {"this span is of an earlier process, started ", "pid " + pid, "inprocess_test.work"},
		"/log?format=text": {`"directory": {`, `"earlier": {`},
		"/log?format=json": {`"directory":{"path":"` + dir, `"windows":`},
	} {
		w := httptest.NewRecorder()
		second.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil))
		for _, want := range wants {
			if !strings.Contains(strings.ReplaceAll(w.Body.String(), "\n         ", " "), want) {
				t.Errorf("%s lacks %q:\n%s", path, want, w.Body)
			}
		}
	}
	// What an earlier process has left is no share of this one's.
	if s := second.Store().Stats(); s.CPUTime != 0 || s.Spans != 0 || s.SpansEnded != 0 {
		t.Errorf("%+v", s)
	}
}
