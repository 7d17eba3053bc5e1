// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// recording is the CPU profiles of an HTTP service with 60 routes. Each request is a span with
// two to four children, and every span has a profile.
type recording struct {
	windows []*profile.Profile
	rand    *rand.Rand
}

func readRecording(tb testing.TB) *recording {
	tb.Helper()
	r := &recording{rand: rand.New(rand.NewPCG(1, 2))}
	files, err := filepath.Glob(filepath.Join("testdata", "service", "cpu*.pprof.gz"))
	if err != nil || len(files) == 0 {
		tb.Fatal("no recording:", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		p, err := profile.ParseData(b)
		if err != nil {
			tb.Fatal(file, err)
		}
		r.windows = append(r.windows, p)
	}
	return r
}

// replay returns the n-th window as it would be with other spans: the same work once more.
func (r *recording) replay(n int) *exporter.Profile {
	old := r.windows[n%len(r.windows)]
	p := &profile.Profile{
		SampleType: old.SampleType, PeriodType: old.PeriodType, Period: old.Period,
		Mapping: old.Mapping, Location: old.Location, Function: old.Function,
		Sample: make([]*profile.Sample, len(old.Sample)),
	}
	fresh := make(map[string]string)
	renew := func(old string, length int) []string {
		if fresh[old] == "" {
			var b [16]byte
			binary.NativeEndian.PutUint64(b[:], r.rand.Uint64())
			binary.NativeEndian.PutUint64(b[8:], r.rand.Uint64())
			fresh[old] = hex.EncodeToString(b[:length/2])
		}
		return []string{fresh[old]}
	}
	for i, old := range old.Sample {
		s := *old
		s.Label = make(map[string][]string, len(old.Label))
		for key, values := range old.Label {
			switch key {
			case labelkey.ProfileID, labelkey.SpanID:
				values = renew(values[0], 16)
			case labelkey.TraceID:
				values = renew(values[0], 32)
			}
			s.Label[key] = values
		}
		p.Sample[i] = &s
	}
	return inWindow(n, exporter.KindCPU, p)
}

// count returns the number of samples of all windows.
func (r *recording) count() (samples int64) {
	for _, p := range r.windows {
		for _, s := range p.Sample {
			samples += s.Value[0]
		}
	}
	return samples
}
