// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package split_test

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/split"
)

// pyroscope are the limits of a Pyroscope server.
var pyroscope = split.Limits{Samples: 16_000, Bytes: 2<<20 - 128<<10}

// service is a large profile of a service with many endpoints.
var service = shape{samples: 50_000, frames: 60, functions: 20_000, handlers: 200, labels: true}

// BenchmarkSplit prints what splitting costs beside one encoding of the whole.
func BenchmarkSplit(b *testing.B) {
	for _, bb := range []struct {
		name  string
		shape shape
	}{
		{"service", service},
		{"any calls any", shape{samples: 50_000, frames: 60, functions: 20_000, labels: true}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p := generate(rand.New(rand.NewPCG(1, 2)), bb.shape)
			whole := exporter.NewParsedProfile(window, p)
			size := uncompressed(b, whole)
			var encoding, splitting time.Duration
			var n, largest, total int
			for b.Loop() {
				start := cpuTime(b)
				if _, err := exporter.NewParsedProfile(window, p).Pprof(); err != nil {
					b.Fatal(err)
				}
				encoding += cpuTime(b) - start
				start = cpuTime(b)
				got := parts(b, whole, pyroscope)
				for _, part := range got {
					if _, err := part.Pprof(); err != nil {
						b.Fatal(err)
					}
				}
				splitting += cpuTime(b) - start
				b.StopTimer()
				n, largest, total = len(got), 0, 0
				for _, part := range got {
					size := uncompressed(b, part)
					largest, total = max(largest, size), total+size
				}
				b.StartTimer()
			}
			b.ReportMetric(splitting.Seconds()/encoding.Seconds(), "times-one-encoding")
			b.ReportMetric(float64(n), "parts")
			b.ReportMetric(float64(size)/float64(pyroscope.Bytes), "size/limit")
			b.ReportMetric(float64(total/n), "B/part")
			b.ReportMetric(float64(largest), "B/largest")
			b.ReportMetric(encoding.Seconds()/float64(b.N), "CPU-s/encoding")
			b.ReportMetric(splitting.Seconds()/float64(b.N), "CPU-s/split+encoding")
		})
	}
}

// cpuTime returns what the process has used, however many others want the machine.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
