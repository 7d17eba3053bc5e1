// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spanprof/spanprof/internal/report/reporttest"
)

// hear returns how often otel.Handle has heard of text.
func hear(t *testing.T, text string) (times func() int64) {
	t.Helper()
	var n atomic.Int64
	reporttest.Handle(t, func(err error) { n.Add(int64(strings.Count(err.Error(), text))) })
	return n.Load
}
