// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.26 && !spanprof_public

package spanprof_test

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
)

// TestRuntimeIsUsed fails where a Go release has changed what labels rely on: spans
// would be labelled, by the weaker public API.
func TestRuntimeIsUsed(t *testing.T) {
	if spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).PublicLabelsOnly() {
		t.Error("goroutines are labelled by the public API alone")
	}
}
