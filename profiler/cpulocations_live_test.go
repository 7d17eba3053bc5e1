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

// locations returns what a profile says of each address: functions, lines, and
// the file that is mapped there. A mapping's HasFunctions is left out: it says
// whether all samples of the profile had symbols, and under the race detector
// some are taken in its C code, which has none.
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

// What runtime/pprof would say of an address, our profiles say too.
func TestLocationsAreThoseOfRuntimePprof(t *testing.T) {
	knownRuntime(t)
	doubling(t, func(d time.Duration) bool {
		// At 100 Hz both would be runtime/pprof's.
		p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithCPURate(97), profiler.WithWindow(endless))
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
		inlined := 0
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
		return inlined > 0
	})
}
