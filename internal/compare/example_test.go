// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"fmt"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/compare"
)

// Three runs of each of two versions. The second spends half as much again on parsing.
func Example() {
	before, after := compare.NewSide(""), compare.NewSide("")
	for run, samples := range []int64{400, 420, 410} {
		name := fmt.Sprint("replica-", run)
		if err := before.Add(name, profileOf(samples, 1000)); err != nil {
			fmt.Println(err)
		}
		if err := after.Add(name, profileOf(samples*3/2, 990)); err != nil {
			fmt.Println(err)
		}
	}
	result, err := compare.Compare(before, after, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range result.Functions {
		if f.Moved {
			fmt.Printf("%s: %+.0f%% CPU time per %s\n", f.Name, 100*(f.Total.Ratio-1), result.Per)
		}
	}
	// Output:
	// parse: +50% CPU time per second
	// main: +14% CPU time per second
}

// profileOf returns what a profiler makes in a minute.
func profileOf(parse, render int64) *exporter.Profile {
	c := newCPU()
	c.add("main > parse", parse)
	c.add("main > render", render)
	return c.of(exporter.KindCPU, time.Minute)
}
