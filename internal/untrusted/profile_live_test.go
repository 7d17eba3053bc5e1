// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package untrusted_test

import (
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/untrusted"
	"github.com/spanprof/spanprof/internal/wire"
)

// Decoded profiles of a command fit into the memory limit, beside what is in the heap but
// not garbage.
func TestMemoryLimit(t *testing.T) {
	data := encoded(t, 100_000, (*profile.Profile).Write) // some 18 MiB
	t.Cleanup(func() { debug.SetMemoryLimit(math.MaxInt64) })
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	debug.SetMemoryLimit(heap() + 10<<20)
	if _, err := untrusted.Profile(data, 1<<30); err != nil {
		t.Error("in a service:", err)
	}
	untrusted.LimitMemory(heap() + 40<<20)
	held, err := untrusted.Profile(data, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	debug.SetMemoryLimit(heap() + 10<<20)
	if _, err := untrusted.Profile(data, 1<<30); !errors.Is(err, wire.ErrTooLarge) || !strings.Contains(err.Error(), "GOMEMLIMIT") {
		t.Errorf("beside a held profile: got %v, want ErrTooLarge", err)
	}
	debug.SetMemoryLimit(heap() + 20<<20)
	runtime.KeepAlive(held)
	for range 3 { // each becomes garbage
		if _, err := untrusted.Profile(data, 1<<30); err != nil {
			t.Error("beside garbage:", err)
		}
	}
}
