// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exporter_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/exporter"
)

func TestLaneHasNoLabels(t *testing.T) {
	const key = "lane_test_label"
	s := new(sink)
	var q *exporter.Multi
	pprof.Do(t.Context(), pprof.Labels(key, "x"), func(context.Context) { q = exporter.NewMulti(s) })
	// The worker has cleared its labels before it answers.
	if err := q.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), key) {
		t.Errorf("a goroutine has kept its creator's labels:\n%s", &b)
	}
	if err := q.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
