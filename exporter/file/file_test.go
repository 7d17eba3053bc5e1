// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/file"
)

func newExporter(t *testing.T, dir string, maxBytes int64) exporter.Exporter {
	t.Helper()
	e, err := file.New(dir, maxBytes, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(t, e) })
	return e
}

func shutdown(t *testing.T, e exporter.Exporter) {
	t.Helper()
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func export(t *testing.T, e exporter.Exporter, p *exporter.Profile) {
	t.Helper()
	if err := e.Export(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// plain returns a profile of ten bytes that are not gzipped.
func plain(kind exporter.Kind, start time.Time, service string) *exporter.Profile {
	return exporter.NewProfile(exporter.Window{
		Kind:     kind,
		Start:    start,
		Duration: 10 * time.Second,
		Resource: resource.NewSchemaless(attribute.String("service.name", service)),
	}, []byte("0123456789"))
}

// gzipped returns a profile that takes n bytes and only looks gzipped.
func gzipped(start time.Time, n int) *exporter.Profile {
	data := make([]byte, n)
	data[0], data[1] = 0x1f, 0x8b
	return exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU, Start: start}, data)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != "spanprof.lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "for us")
	e := newExporter(t, dir, 0)
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2000, 1, 1, 1, 0, 0, 7, time.FixedZone("", 3600))
		export(t, e, plain(exporter.KindHeap, start.Add(time.Second), "shop"))
		export(t, e, plain(exporter.KindCPU, start, "shop"))
		export(t, e, plain(exporter.KindCPU, start, "shop"))
		export(t, e, plain("../x", start, "../a b:ü/"+strings.Repeat("y", 200)))
		export(t, e, exporter.NewProfile(exporter.Window{}, nil))
		if err := e.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
	})
	wantNames(
		t, dir,
		"20000101T000000.000000000Z-unknown_service-unknown.pprof.gz",
		"20000101T000000.000000007Z-.._a_b___"+strings.Repeat("y", 91)+"-.._x.pprof.gz",
		"20000101T000000.000000007Z-shop-1-cpu.pprof.gz",
		"20000101T000000.000000007Z-shop-cpu.pprof.gz",
		"20000101T000001.000000007Z-shop-heap.pprof.gz",
	)
}

// Two that rotate one directory would remove each other's files.
func TestDirectoryBelongsToOneExporter(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first := newExporter(t, dir, 0)
		if _, err := file.New(dir, 0, 0); err == nil || !strings.Contains(err.Error(), "in use already: name another one for each process") {
			t.Errorf("New with the directory of another: %v", err)
		}
		// One that ends within a second is waited for.
		time.AfterFunc(time.Second/2, func() { shutdown(t, first) })
		shutdown(t, newExporter(t, dir, 0))
	})
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		other := filepath.Join(dir, "20000101T000000.000000000Z-notes.txt")
		if err := os.WriteFile(other, make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		wantMinutes := func(minutes ...int) {
			t.Helper()
			want := []string{filepath.Base(other)}
			for _, m := range minutes {
				want = append(want, fmt.Sprintf("20000101T%02d%02d00.000000000Z-unknown_service-cpu.pprof.gz", m/60, m%60))
			}
			wantNames(t, dir, want...)
		}
		e := newExporter(t, dir, 100)
		for range 6 {
			export(t, e, gzipped(time.Now(), 20))
			<-time.After(time.Minute)
		}
		wantMinutes(1, 2, 3, 4, 5)

		// The next run counts what is there.
		shutdown(t, e)
		e = newExporter(t, dir, 100)
		export(t, e, gzipped(time.Now(), 50))
		wantMinutes(4, 5, 6)

		<-time.After(time.Hour)
		export(t, e, gzipped(time.Now(), 10))
		wantMinutes(6, 66) // the one from an hour ago is not older than an hour

		if err := e.Export(t.Context(), gzipped(time.Now(), 101)); err == nil || !strings.Contains(err.Error(), "101 bytes") {
			t.Errorf("Export of more than all files may have: %v", err)
		}
		wantMinutes(6, 66)
	})
}

// The file with the earliest start is removed first, whichever was written first.
func TestRotationOrder(t *testing.T) {
	dir := t.TempDir()
	e := newExporter(t, dir, 30)
	now := time.Now()
	for _, n := range []time.Duration{2, 0, 1, 3} {
		export(t, e, gzipped(now.Add(n*time.Second), 10))
	}
	if got, first := names(t, dir), now.Add(time.Second).UTC().Format("20060102T150405.000000000Z"); len(got) != 3 || !strings.HasPrefix(got[0], first) {
		t.Errorf("got files %v, want the first to start at %s", got, first)
	}
}

func TestDirectoryFails(t *testing.T) {
	dir := t.TempDir()
	notDir := filepath.Join(dir, "file")
	if err := os.WriteFile(notDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.New(notDir, 0, 0); err == nil || !strings.HasPrefix(err.Error(), "file: directory "+notDir) {
		t.Errorf("New with a file for a directory: %v", err)
	}

	gone := filepath.Join(dir, "gone")
	e := newExporter(t, gone, 0)
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	p := gzipped(time.Now(), 34)
	if err := e.Export(t.Context(), p); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "file: cpu profile dropped: ") {
		t.Errorf("Export: %v", err)
	}
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	export(t, e, p) // it goes on when it can
	if err := e.Export(t.Context(), nil); err == nil {
		t.Error("no error for nil")
	}
	if got := names(t, gone); len(got) != 1 {
		t.Errorf("got files %v, want one", got)
	}
}

func TestBounds(t *testing.T) {
	for _, bounds := range [][2]int64{{-1, 0}, {0, -1}} {
		if _, err := file.New(t.TempDir(), bounds[0], time.Duration(bounds[1])); err == nil || !strings.HasPrefix(err.Error(), "file: negative bound") {
			t.Errorf("New(%v): %v", bounds, err)
		}
	}
	if _, err := file.New("", 0, 0); err == nil {
		t.Error("no error for a directory without a name")
	}
}

func TestShutdown(t *testing.T) {
	e := newExporter(t, t.TempDir(), 0)
	for range 2 {
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := e.Export(t.Context(), gzipped(time.Now(), 10)); err != exporter.ErrShutdown { //nolint:errorlint // as it is
		t.Errorf("Export after Shutdown: %v", err)
	}
	if err := e.ForceFlush(t.Context()); !errors.Is(err, exporter.ErrShutdown) {
		t.Errorf("ForceFlush after Shutdown: %v", err)
	}
}
