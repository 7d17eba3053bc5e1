// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package convert_test

import (
	"testing"
)

// OTLP holds an id as bytes, pprof as twice as many of text.
func TestSize(t *testing.T) {
	p, err := smallSpanProfile()
	if err != nil {
		t.Fatal(err)
	}
	pprof, otlp, links := sizes(t, p)
	t.Logf("%d samples, %d links: pprof %d B, OTLP %d B", len(p.Sample), links, pprof, otlp)
	if links != 40 {
		t.Errorf("%d links, want 40", links)
	}
	if otlp >= pprof {
		t.Errorf("OTLP takes %d B gzipped, want less than pprof's %d B", otlp, pprof)
	}
}
