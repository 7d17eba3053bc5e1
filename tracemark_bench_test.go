// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	rtrace "runtime/trace"
	"testing"
)

// BenchmarkTraceMarkOff is what a local root pays for its mark while no execution trace is on.
func BenchmarkTraceMarkOff(b *testing.B) {
	if rtrace.IsEnabled() {
		b.Skip("an execution trace is on") // go test -trace
	}
	s := &spanState{}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		s.markTrace(ctx, nil)
	}
}
