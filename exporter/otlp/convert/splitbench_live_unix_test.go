// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && unix

package convert_test

import (
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
)

// BenchmarkSplit prints what sending a profile in parts costs beside sending it as
// one, and how large the parts are.
func BenchmarkSplit(b *testing.B) {
	const maxSamples, maxBytes = 16_000, 4<<20 - 64<<10
	c, err := convert.New()
	if err != nil {
		b.Fatal(err)
	}
	encode := func(p *exporter.Profile) int {
		m, err := c.Request(p)
		if err != nil {
			b.Fatal(err)
		}
		data, err := proto.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		gzipped(b, data)
		return len(data)
	}
	whole := exporter.NewParsedProfile(window, largeProfile(1, 60_000))
	var encoding, splitting time.Duration
	var size, largest, n int
	for b.Loop() {
		start := cpuTime(b)
		size = encode(whole)
		encoding += cpuTime(b) - start
		start = cpuTime(b)
		parts, err := c.Split(whole, maxSamples, maxBytes)
		if err != nil {
			b.Fatal(err)
		}
		n, largest = len(parts), 0
		for _, part := range parts {
			largest = max(largest, encode(part))
		}
		splitting += cpuTime(b) - start
	}
	b.ReportMetric(splitting.Seconds()/encoding.Seconds(), "times-one-encoding")
	b.ReportMetric(float64(n), "parts")
	b.ReportMetric(float64(size)/maxBytes, "size/limit")
	b.ReportMetric(float64(largest), "B/largest")
	b.ReportMetric(encoding.Seconds()/float64(b.N), "CPU-s/encoding")
	b.ReportMetric(splitting.Seconds()/float64(b.N), "CPU-s/split+encoding")
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
