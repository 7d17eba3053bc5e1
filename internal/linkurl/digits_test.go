// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package linkurl

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

func TestDigits(t *testing.T) {
	times := []int64{math.MinInt64, -1, 0, 1, 1e18 - 1, 1e18, 1999999999999999999, math.MaxInt64}
	for range 10000 {
		times = append(times, 1e18+rand.Int64N(math.MaxInt64-1e18), rand.Int64N(1e18)-5e17)
	}
	for _, n := range times {
		var d nanos
		d.set(time.Unix(0, n))
		if got, want := string(d.digits()), strconv.FormatInt(n, 10); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	// Each pair of four digits, in both halves.
	for n := int64(1e18); n < 1e18+10000; n++ {
		for _, shift := range []int64{1, 1e4, 1e8, 1e12} {
			at := 1e18 + (n-1e18)*shift
			var d nanos
			d.set(time.Unix(0, at))
			if got, want := string(d.digits()), strconv.FormatInt(at, 10); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
	}
}
