// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package viewer_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// The log shows what of a directory has no room in memory.
func TestLogCountsWhatADirectoryHasMore(t *testing.T) {
	const windows = 120
	dir := t.TempDir()
	open := func(maxBytes int64) *store.Store {
		s, err := store.New(store.WithDirectory(dir, 16<<20), store.WithMaxBytes(maxBytes))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := open(16 << 20)
	for i := range windows {
		b := newProfileBuilder()
		for j := range 5000 {
			b.add(1, labels(fmt.Sprintf("%016x", i*5000+j+1), "GET /"), fmt.Sprint("main.f", j%100), "main.serve")
		}
		b.profile.TimeNanos += int64(i) * 10e9
		p := exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(i) * 10 * time.Second), Duration: 10 * time.Second, Resource: shop}, b.profile)
		if err := first.Export(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if err := first.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := open(8 << 20)
	defer func() {
		if err := second.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for deadline := time.Now().Add(time.Minute); second.Stats().Directory.Restoring; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the directory is being read after a minute")
		}
	}
	h := viewer.Handler(second)
	var got answer.Log
	getJSON(t, h, "/log?format=json", http.StatusOK, &got)
	d := got.Stats.Directory
	if d == nil || d.Windows == 0 || d.WindowsLeftOut == 0 || d.Windows+int(d.WindowsLeftOut) != windows {
		t.Fatalf("%+v, want some of %d windows left out", d, windows)
	}
	text := get(t, h, "/log?format=text").Body.String()
	if want := fmt.Sprintf("\"windowsLeftOut\": %d\n", d.WindowsLeftOut); !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
}
