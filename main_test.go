// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"os"
	"testing"

	"go.opentelemetry.io/otel"
	"go.uber.org/goleak"

	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/internal/report"
)

func TestMain(m *testing.M) {
	report.Synchronous(otel.Handle) // otherwise a report arrives while another test reads its own
	// The published snippet, an Example, does not shut its provider down.
	os.Exit(leaktest.Run(m, goleak.IgnoreTopFunction("go.opentelemetry.io/otel/sdk/trace.(*batchSpanProcessor).processQueue")))
}
