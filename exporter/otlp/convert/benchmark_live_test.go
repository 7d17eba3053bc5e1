// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package convert_test

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
)

// OTLP holds an id as bytes, pprof as twice as many of text.
func TestSize(t *testing.T) {
	p, err := smallSpanProfile()
	if err != nil {
		t.Fatal(err)
	}
	pprof, otlp, links := sizes(t, p)
	t.Logf("%d samples, %d links: pprof %d B, OTLP %d B", len(p.Sample), links, pprof, otlp)
	if links != 40 {
		t.Errorf("%d links, want 40", links)
	}
	if otlp >= pprof {
		t.Errorf("OTLP takes %d B gzipped, want less than pprof's %d B", otlp, pprof)
	}
}

// gzipped returns the size of b as the exporters send it.
func gzipped(t testing.TB, b []byte) int {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}

// sizes returns the gzipped bytes of p as pprof and as OTLP, and the number of its Links.
func sizes(t testing.TB, p *profile.Profile) (pprof, otlp, links int) {
	t.Helper()
	var b bytes.Buffer
	if err := p.Copy().WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	m := request(t, exporter.NewParsedProfile(window, p))
	message, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return gzipped(t, b.Bytes()), gzipped(t, message), len(m.Dictionary.LinkTable) - 1
}

// report adds what the profile is to a benchmark's figures.
func report(b *testing.B, p *profile.Profile, pprof, otlp, links int) {
	b.ReportMetric(float64(len(p.Sample)), "samples")
	b.ReportMetric(float64(links), "links")
	b.ReportMetric(float64(pprof), "pprof.gz-B")
	b.ReportMetric(float64(otlp), "otlp.gz-B")
}

// The profile takes about 10 s of two CPUs to make.
func BenchmarkRequest(b *testing.B) {
	p, err := spanProfile(1462, 1223)
	if err != nil {
		b.Fatal(err)
	}
	pprof, otlp, links := sizes(b, p)
	c, err := convert.New()
	if err != nil {
		b.Fatal(err)
	}
	e := exporter.NewParsedProfile(window, p)
	b.Run("convert", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Request(e); err != nil {
				b.Fatal(err)
			}
		}
		report(b, p, pprof, otlp, links)
	})
	b.Run("convert+marshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m, err := c.Request(e)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := proto.Marshal(m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
