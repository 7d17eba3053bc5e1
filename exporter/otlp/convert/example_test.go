// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"fmt"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
)

// A profile becomes a message and a profile again.
func ExampleProfiles() {
	c, err := convert.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := c.Request(exporter.NewParsedProfile(window, cpuProfile()))
	if err != nil {
		fmt.Println(err)
		return
	}
	profiles, err := convert.Profiles(message)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range profiles {
		parsed, err := p.Parsed()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Kind(), p.Duration(), parsed.Sample[0].Value, parsed.Sample[0].Label["span_id"])
	}
	// Output: cpu 10s [3 30000000] [fedcba9876543210]
}
