// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesprocessor

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"github.com/spanprof/spanprof/internal/attribution"
)

// recorded returns the messages of an agent.
func recorded(t *testing.T, load string) (messages []pprofile.Profiles) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "receiver", "testdata", load+".pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := bufio.NewReader(unpacked); ; {
		n, err := binary.ReadUvarint(r)
		if errors.Is(err, io.EOF) {
			return messages
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

// score counts samples: all, with the labels of a span, and first ones of their record.
type score struct{ all, labelled, first int64 }

// add adds the samples of a message. first has the first times of records with the labels of a
// span, before they are split.
func (sum *score) add(t *testing.T, td pprofile.Profiles, first map[pcommon.Timestamp]bool) {
	t.Helper()
	m := message{dict: td.Dictionary(), counts: map[string]int64{}}
	for s := range samplesOf(td) {
		times := s.TimestampsUnixNano()
		sum.all += int64(times.Len())
		r, _, err := m.record(s)
		if err != nil {
			t.Fatal(err)
		}
		if r.Labels["span_id"] == "" {
			continue
		}
		sum.labelled += int64(times.Len())
		if first[pcommon.Timestamp(times.At(0))] {
			sum.first++
		}
		first[pcommon.Timestamp(times.At(0))] = true
		if id := td.Dictionary().LinkTable().At(int(s.LinkIndex())).SpanID(); r.Labels["trace_id"] != "" && id.String() != r.Labels["span_id"] && s.LinkIndex() > 0 {
			t.Errorf("the Link has the span %s, the labels %s", id, r.Labels["span_id"])
		}
	}
}

func samplesOf(td pprofile.Profiles) iter.Seq[pprofile.Sample] {
	return func(yield func(pprofile.Sample) bool) {
		for _, r := range td.ResourceProfiles().All() {
			for _, scope := range r.ScopeProfiles().All() {
				for _, p := range scope.Profiles().All() {
					for _, s := range p.Samples().All() {
						if !yield(s) {
							return
						}
					}
				}
			}
		}
	}
}

// TestSplit splits recordings: no sample is lost, and the first of a record keeps its labels.
func TestSplit(t *testing.T) {
	for _, load := range []string{"tight", "json", "cgo", "kernel", "shared", "tight-keyed", "shared-keyed"} {
		var before, after score
		counts := map[string]int64{}
		var agents, afterwards attribution.Agents
		for _, td := range recorded(t, load) {
			first := map[pcommon.Timestamp]bool{}
			before.add(t, td, first)
			c, err := split(&agents, "connection", td)
			if err != nil {
				t.Fatal(err)
			}
			for by, n := range c {
				counts[by] += n
			}
			after.add(t, td, first)
			// A second processor, or a receiver, changes nothing.
			again, err := split(&afterwards, "connection", td)
			if err != nil || again["ambiguous"] != 0 || again["first"] != c["first"] || again["labels"] != c["labels"] {
				t.Errorf("%s: %v, %v, the second time; %v the first time", load, again, err, c)
			}
		}
		t.Logf("%-12s %+v; %v", load, after, counts)
		if after.all != before.all || after.labelled == 0 || after.labelled != counts["first"]+counts["labels"] || after.first < counts["first"] {
			t.Errorf("%s: %+v of %+v, %v", load, after, before, counts)
		}
		if keyed := len(load) > 6; keyed != (counts["labels"] > 0) || keyed == (counts["ambiguous"] > 0) {
			t.Errorf("%s: %v", load, counts)
		}
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
