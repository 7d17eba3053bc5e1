// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

func TestProfileForms(t *testing.T) {
	want := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     10_000_000,
		Sample:     []*profile.Sample{{Value: []int64{7}, Label: map[string][]string{"span_id": {"0123456789abcdef"}}}},
	}
	parsed := exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU}, want)
	if got, err := parsed.Parsed(); err != nil || got != want {
		t.Errorf("Parsed() = %p, %v; want what it was made from", got, err)
	}
	b, err := parsed.Pprof()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := parsed.Pprof(); err != nil || &again[0] != &b[0] {
		t.Errorf("a second Pprof() encoded again: %v", err)
	}

	encoded := exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU}, b)
	if got, err := encoded.Pprof(); err != nil || !bytes.Equal(got, b) {
		t.Errorf("Pprof() = %d bytes, %v; want what it was made from", len(got), err)
	}
	got, err := encoded.Parsed()
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != want.String() {
		t.Errorf("Parsed() =\n%s\nwant\n%s", got, want)
	}
	if again, err := encoded.Parsed(); err != nil || again != got {
		t.Errorf("a second Parsed() decoded again: %v", err)
	}
}

// Encoding a profile does not write to data that others read, merge or copy.
func TestProfileIsReadAndEncodedAtOnce(t *testing.T) {
	p := samples(3)
	before, err := p.Parsed()
	if err != nil {
		t.Fatal(err)
	}
	want := before.String()
	var wg sync.WaitGroup
	wg.Go(func() {
		b, err := p.Pprof()
		if err != nil {
			t.Error(err)
		}
		got, err := profile.ParseData(b)
		if err != nil || got.String() != want {
			t.Errorf("%v, encoded was\n%s\nwant\n%s", err, got, want)
		}
	})
	wg.Go(func() {
		parsed, err := p.Parsed()
		if err != nil {
			t.Error(err)
		}
		if _, err := profile.Merge([]*profile.Profile{parsed, parsed}); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
}
