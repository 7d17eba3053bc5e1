// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package decode_test

import (
	"bytes"
	"runtime/pprof"
	"testing"

	"github.com/google/pprof/profile"
)

func TestRoundTripOfGoProfiles(t *testing.T) {
	for _, name := range []string{"heap", "allocs", "goroutine", "mutex", "block", "threadcreate"} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := pprof.Lookup(name).WriteTo(&b, 0); err != nil {
				t.Fatal(err)
			}
			p, err := profile.ParseData(b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			roundTrip(t, p)
		})
	}
}
