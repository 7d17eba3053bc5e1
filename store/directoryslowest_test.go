// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// Where a quarter of the directory has no room for all of the slowest spans, those of the
// greatest worth are written: the slowest of each name.
func TestDirectoryWithoutRoomForSlowest(t *testing.T) {
	quietErrors(t)
	const names, each, bytes = 200, 10, 4 << 20
	dir := t.TempDir()
	opts := []store.Option{store.WithDirectory(dir, bytes), store.WithMaxBytes(128 << 20), store.WithSpansPerName(each)}
	first := newStore(t, opts...)
	defer shutdown(t, first)
	var slowest []string
	for name := range names {
		for n := range each {
			id := endSpan(first, fmt.Sprint("GET /", name), 0.1, 0.2+0.01*float64(n), func(s trace.Span) {
				text := make([]byte, 750) // which does not compress
				for i := range text {
					text[i] = byte(' ' + rand.IntN(90))
				}
				s.SetStatus(codes.Error, string(text))
			})
			if n == each-1 {
				slowest = append(slowest, id)
			}
		}
	}
	export(t, first, inWindow(0, exporter.KindCPU, cpuProfile(sample{"main", 1, nil})))
	shutdown(t, first)
	size := int64(0)
	for _, file := range runFiles(t, dir, "*-kept-spans.jsonl.gz") {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	d := first.Stats().Directory
	if size > bytes/4 || d.SlowSpansLeftOut == 0 || d.SlowSpansLeftOut > names*(each-1) || d.WriteFailures != 0 {
		t.Errorf("the slowest spans take %d bytes, want at most a quarter of %d, and some left out: %+v", size, bytes, d)
	}
	removeWindows(t, dir)
	second := newStore(t, opts...)
	defer shutdown(t, second)
	second.Restored()
	for _, id := range slowest {
		spanWithID(t, second, id)
	}
}
