// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package reporttest reads what package report has given to otel.Handle.
package reporttest

import (
	"slices"
	"sync"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/report"
)

// Collect returns a function for the texts of the errors reported during the test t so far.
// Reports are synchronous until its end: tests need not wait.
func Collect(t interface{ Cleanup(func()) }) func() []string {
	var mu sync.Mutex
	var texts []string
	handle := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		texts = append(texts, err.Error())
	}
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(handle))
	restore := report.Synchronous(handle)
	t.Cleanup(func() {
		restore()
		otel.SetErrorHandler(before)
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(texts)
	}
}
