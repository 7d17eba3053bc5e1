// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/profiler"
)

// mixed is inlined, and so is what it calls.
func mixed(x uint64) uint64 { return scrambled(x) + 1 }

func scrambled(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	return x ^ x<<17
}

//go:noinline
func burnInlined(d time.Duration) (x uint64) {
	for start := time.Now(); time.Since(start) < d; {
		for i := range uint64(10_000) {
			x = mixed(x + i)
		}
	}
	return x
}

// locations returns the functions, lines and the mapped file of each address of a
// profile. A mapping's HasFunctions is left out: it is set if all samples of the
// profile had symbols. The race detector has C code, which has no symbols.
func locations(p *profile.Profile) map[uint64][]string {
	found := map[uint64][]string{}
	for _, l := range p.Location {
		mapping := *l.Mapping
		mapping.HasFunctions = false
		said := []string{fmt.Sprintf("%+v", mapping)}
		for _, line := range l.Line {
			f := line.Function
			said = append(said, fmt.Sprintf("%s (%s) %s:%d from %d", f.Name, f.SystemName, f.Filename, line.Line, f.StartLine))
		}
		found[l.Address] = said
	}
	return found
}

// Our profiles have the same symbols for an address as runtime/pprof.
func TestLocationsAreThoseOfRuntimePprof(t *testing.T) {
	knownRuntime(t)
	livetest.Doubling(t, 50*time.Millisecond, func(d time.Duration) string {
		p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
		burnInlined(d)
		shutdown(t, p)
		ours := locations(parsed(t, last(t, rec)))

		var b bytes.Buffer
		if err := pprof.StartCPUProfile(&b); err != nil {
			t.Fatal(err)
		}
		burnInlined(d)
		pprof.StopCPUProfile()
		theirs, err := profile.ParseData(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		var inlined int64
		for address, want := range locations(theirs) {
			got, ok := ours[address]
			if !ok {
				continue
			}
			if len(want) > 2 {
				inlined++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("address %#x (-runtime/pprof +ours):\n%s", address, diff)
			}
		}
		return livetest.Few(inlined, 1, "samples of inlined calls in both profiles")
	})
}
