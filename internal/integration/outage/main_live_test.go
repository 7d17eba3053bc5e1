// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package main

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
)

// A short outage: ours lose nothing, and the table has a row of every peer.
func TestRun(t *testing.T) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	rows, err := run(500*time.Millisecond, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := show(&out, rows); err != nil {
		t.Fatal(err)
	}
	for i, p := range peers {
		if r := rows[i]; strings.HasPrefix(p.name, "exporter/") && (r.given == 0 || r.delivered != r.given || r.err != nil) || !strings.Contains(out.String(), p.name) {
			t.Errorf("%s: %+v, want everything delivered, and a row in\n%s", p.name, r, &out)
		}
	}
}
