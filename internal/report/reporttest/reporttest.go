// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package reporttest reads what package report has given to otel.Handle.
package reporttest

import (
	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/report"
)

// Handle makes handle the error handler until the end of the test t. Reports are
// synchronous: tests need not wait. handle must not use the component that reports.
func Handle(t interface{ Cleanup(func()) }, handle func(error)) {
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(handle))
	restore := report.Synchronous(handle)
	t.Cleanup(func() {
		restore()
		otel.SetErrorHandler(before)
	})
}
