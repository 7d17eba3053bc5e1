// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesprocessor

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

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

// samples returns the number of timestamps, and of those with the label span_id.
func samples(t *testing.T, td pprofile.Profiles) (all, labelled int64) {
	t.Helper()
	m := message{dict: td.Dictionary()}
	for _, r := range td.ResourceProfiles().All() {
		for _, scope := range r.ScopeProfiles().All() {
			for _, p := range scope.Profiles().All() {
				for _, s := range p.Samples().All() {
					r, _, err := m.record(s)
					if err != nil {
						t.Fatal(err)
					}
					n := int64(s.TimestampsUnixNano().Len())
					all += n
					if r.Labels["span_id"] != "" {
						labelled += n
					}
					if id := td.Dictionary().LinkTable().At(int(s.LinkIndex())).SpanID(); r.Labels["trace_id"] != "" && id.String() != r.Labels["span_id"] && s.LinkIndex() > 0 {
						t.Errorf("the Link has the span %s, the labels %s", id, r.Labels["span_id"])
					}
				}
			}
		}
	}
	return all, labelled
}

// TestSplit splits recordings: no sample is lost, and the first of a record keeps its labels.
func TestSplit(t *testing.T) {
	for _, load := range []string{"tight", "json", "cgo", "kernel", "shared", "tight-keyed", "shared-keyed"} {
		var first, certain, ambiguous int64
		var agents, afterwards attribution.Agents
		for _, td := range recorded(t, load) {
			before, _ := samples(t, td)
			counts, err := split(&agents, "connection", td)
			if err != nil {
				t.Fatal(err)
			}
			after, labelled := samples(t, td)
			if after != before || labelled != counts["first"]+counts["labels"] {
				t.Errorf("%s: %d of %d samples, %d labelled, %v", load, after, before, labelled, counts)
			}
			first, certain, ambiguous = first+counts["first"], certain+counts["labels"], ambiguous+counts["ambiguous"]
			// A second processor, or a receiver, changes nothing.
			again, err := split(&afterwards, "connection", td)
			if err != nil || again["ambiguous"] != 0 || again["first"] != counts["first"] || again["labels"] != counts["labels"] {
				t.Errorf("%s: %v, %v, the second time; %v the first time", load, again, err, counts)
			}
		}
		if keyed := len(load) > 6; keyed != (certain > 0) || keyed == (ambiguous > 0) || keyed == (first > 0) {
			t.Errorf("%s: %d samples first, %d by labels, %d ambiguous", load, first, certain, ambiguous)
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
