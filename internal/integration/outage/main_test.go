// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
)

// A short outage: the table has a row of every peer, and ours lose nothing.
func TestRun(t *testing.T) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	var out strings.Builder
	if err := run(&out, 500*time.Millisecond, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &out)
	for _, p := range peers {
		if !strings.Contains(out.String(), p.name) {
			t.Errorf("no row of %s in\n%s", p.name, &out)
		}
	}
	if n := strings.Count(out.String(), "0     none             <nil>"); n != 2 {
		t.Errorf("%d rows without a loss, want ours two, in\n%s", n, &out)
	}
}
