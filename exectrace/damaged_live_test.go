// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/spanprof/spanprof/exectrace"
)

// damage returns a recording with bytes changed, doubled, made as large as numbers get, or
// left out.
func damage(r *rand.Rand, data []byte) []byte {
	const header = 16
	at := header + r.IntN(len(data)-header)
	switch r.IntN(4) {
	case 0:
		data = bytes.Clone(data)
		data[at] = byte(r.IntN(256))
	case 1:
		end := min(at+r.IntN(400), len(data))
		data = bytes.Join([][]byte{data[:end], data[at:]}, nil)
	case 2:
		data = bytes.Clone(data)
		copy(data[at:], bytes.Repeat([]byte{0xff}, 9))
	case 3:
		data = bytes.Clone(data[:at+1])
	}
	return data
}

// A damaged trace is a *ParseError, or what can be read of it adds up; the memory that it
// takes has a bound, which is far above what the recordings take themselves.
func TestDamaged(t *testing.T) {
	const most = 64 << 20
	r := rand.New(rand.NewPCG(24, 5))
	for i := range 300 {
		data := recording(t, recordings[i%len(recordings)])
		for range 1 + r.IntN(4) {
			data = damage(r, data)
		}
		var (
			a    *exectrace.Analysis
			err  error
			took uint64
		)
		// All that the process allocates counts: it is the analysis that takes each time too
		// much.
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			a, err = exectrace.Analyze(bytes.NewReader(data), exectrace.WithMaxBytes(1<<20), exectrace.WithMaxInput(1<<20))
			runtime.ReadMemStats(&after)
			if took = after.TotalAlloc - before.TotalAlloc; took <= most {
				break
			}
		}
		if took > most {
			t.Errorf("damage %d: %d bytes of memory for a trace of %d", i, took, len(data))
		}
		if err == nil {
			checkSums(t, a)
			continue
		}
		if _, ok := errors.AsType[*exectrace.ParseError](err); !ok {
			t.Errorf("damage %d: %T, %v", i, err, err)
		}
	}
}
