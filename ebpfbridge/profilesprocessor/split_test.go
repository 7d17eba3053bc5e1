// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesprocessor

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spanprof/spanprof/internal/attribution"
)

// slice is the time of a span on a thread of the recorded program.
type slice struct {
	Thread     int64
	Span       string
	Start, End int64
}

// recorded returns the messages of an agent, and the true spans of its target.
func recorded(t *testing.T, load string) (messages []pprofile.Profiles, truth []slice) {
	t.Helper()
	open := func(name string) *bufio.Reader {
		f, err := os.Open(filepath.Join("..", "receiver", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		r, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(r)
	}
	for d := json.NewDecoder(open(load + ".json.gz")); ; {
		var s slice
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		truth = append(truth, s)
	}
	for r := open(load + ".pb.gz"); ; {
		n, err := binary.ReadUvarint(r)
		if errors.Is(err, io.EOF) {
			return messages, truth
		}
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			t.Fatal(err)
		}
		m := pprofileotlp.NewExportRequest()
		if err := m.UnmarshalProto(b); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m.Profiles())
	}
}

// threadOf returns the thread of a sample.
func threadOf(dict pprofile.ProfilesDictionary, s pprofile.Sample) int64 {
	for _, i := range s.AttributeIndices().All() {
		if kv := dict.AttributeTable().At(int(i)); dict.StringTable().At(int(kv.KeyStrindex())) == "thread.id" {
			return kv.Value().Int()
		}
	}
	return 0
}

// score counts samples, compared with the truth.
type score struct{ all, labelled, right, wrong, edge int64 }

func (sum *score) add(t *testing.T, td pprofile.Profiles, truth []slice) {
	t.Helper()
	m := message{dict: td.Dictionary(), counts: map[string]int64{}}
	for _, r := range td.ResourceProfiles().All() {
		for _, scope := range r.ScopeProfiles().All() {
			for _, p := range scope.Profiles().All() {
				for _, s := range p.Samples().All() {
					l, _, err := m.record(s)
					if err != nil {
						t.Fatal(err)
					}
					for _, at := range s.TimestampsUnixNano().All() {
						sum.all++
						if l.Labels["span_id"] == "" {
							continue
						}
						sum.labelled++
						span, known := "", false
						for _, x := range truth {
							if x.Thread == threadOf(td.Dictionary(), s) && x.Start <= int64(at) && int64(at) <= x.End {
								span, known = x.Span, true
							}
						}
						switch {
						case !known:
							sum.edge++
						case span == l.Labels["span_id"]:
							sum.right++
						default:
							sum.wrong++
						}
						if id := td.Dictionary().LinkTable().At(int(s.LinkIndex())).SpanID(); l.Labels["trace_id"] != "" && id.String() != l.Labels["span_id"] {
							t.Errorf("the Link has the span %s, the labels %s", id, l.Labels["span_id"])
						}
					}
				}
			}
		}
	}
}

// TestSplit splits recordings: no sample is lost, and none is on a wrong span.
func TestSplit(t *testing.T) {
	for _, load := range []string{"tight", "json", "cgo", "kernel", "shared", "tight-keyed", "shared-keyed"} {
		messages, truth := recorded(t, load)
		var before, after score
		counts := map[string]int64{}
		var agents, afterwards attribution.Agents
		for _, td := range messages {
			for _, r := range td.ResourceProfiles().All() {
				for _, scope := range r.ScopeProfiles().All() {
					for _, p := range scope.Profiles().All() {
						before.all += timestamps(p)
					}
				}
			}
			c, err := split(&agents, "connection", td)
			if err != nil {
				t.Fatal(err)
			}
			for by, n := range c {
				counts[by] += n
			}
			after.add(t, td, truth)
			// A second processor, or a receiver, changes nothing.
			again, err := split(&afterwards, "connection", td)
			if err != nil || again["ambiguous"] != 0 || again["first"] != c["first"] || again["labels"] != c["labels"] {
				t.Errorf("%s: %v, %v, the second time; %v the first time", load, again, err, c)
			}
		}
		t.Logf("%-12s %+v; %v", load, after, counts)
		if after.all != before.all || after.wrong != 0 || after.right == 0 || after.labelled != counts["first"]+counts["labels"] {
			t.Errorf("%s: %+v of %d, %v", load, after, before.all, counts)
		}
		if keyed := len(load) > 6; keyed != (counts["labels"] > 0) || keyed == (counts["ambiguous"] > 0) {
			t.Errorf("%s: %v", load, counts)
		}
	}
}

func timestamps(p pprofile.Profile) (n int64) {
	for _, s := range p.Samples().All() {
		n += int64(s.TimestampsUnixNano().Len())
	}
	return n
}

// TestProcessor runs a recording through a processor of the factory.
func TestProcessor(t *testing.T) {
	messages, _ := recorded(t, "json")
	got := 0
	next, err := xconsumer.NewProfiles(func(_ context.Context, td pprofile.Profiles) error {
		got += td.SampleCount()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f := NewFactory()
	set := processor.Settings{ID: component.NewID(f.Type()), TelemetrySettings: component.TelemetrySettings{MeterProvider: noop.NewMeterProvider()}}
	p, err := f.CreateProfiles(t.Context(), set, f.CreateDefaultConfig(), next)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, td := range messages {
		want += td.SampleCount()
		if err := p.ConsumeProfiles(t.Context(), td); err != nil {
			t.Fatal(err)
		}
	}
	if !p.Capabilities().MutatesData || got <= want {
		t.Errorf("%d samples of %d, want more, as some are split", got, want)
	}
}

// TestMalformed has indices outside of their tables, and missing timestamps.
func TestMalformed(t *testing.T) {
	for name, spoil := range map[string]func(pprofile.ProfilesDictionary, pprofile.Sample){
		"attribute": func(_ pprofile.ProfilesDictionary, s pprofile.Sample) { s.AttributeIndices().Append(9) },
		"negative":  func(_ pprofile.ProfilesDictionary, s pprofile.Sample) { s.AttributeIndices().Append(-1) },
		"key": func(d pprofile.ProfilesDictionary, _ pprofile.Sample) {
			d.AttributeTable().At(1).SetKeyStrindex(7)
		},
		"no timestamps": func(_ pprofile.ProfilesDictionary, s pprofile.Sample) { s.TimestampsUnixNano().FromRaw(nil) },
		"values":        func(_ pprofile.ProfilesDictionary, s pprofile.Sample) { s.Values().Append(1, 2, 3) },
	} {
		td := pprofile.NewProfiles()
		d := td.Dictionary()
		d.StringTable().Append("", attribution.LabelPrefix+"span_id")
		d.AttributeTable().AppendEmpty()
		kv := d.AttributeTable().AppendEmpty()
		kv.SetKeyStrindex(1)
		kv.Value().SetStr("00f067aa0ba902b7")
		s := td.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty().Samples().AppendEmpty()
		s.AttributeIndices().Append(1)
		s.TimestampsUnixNano().Append(1, 2)
		spoil(d, s)
		if _, err := split(new(attribution.Agents), "connection", td); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
