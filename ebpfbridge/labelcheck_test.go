// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package ebpfbridge_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/ebpfbridge"
	"github.com/spanprof/spanprof/exporter"
)

// labelled returns a CPU profile of one sample of a span with more labels.
func labelled(labels ...string) *exporter.Profile {
	s := &profile.Sample{Value: []int64{1}, Label: map[string][]string{
		"profile_id": {"00f067aa0ba902b7"},
		"span_id":    {"00f067aa0ba902b7"},
		"span_name":  {strings.Repeat("name", 30)},
		"trace_id":   {"4bf92f3577b34da6a3ce929d0e0e4736"},
	}}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		s.Label[key] = []string{value}
	}
	return exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU}, &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}, Sample: []*profile.Sample{s},
	})
}

func numbered(prefix string, n int) (labels []string) {
	for i := range n {
		labels = append(labels, fmt.Sprintf("%s%d=x", prefix, i))
	}
	return labels
}

func TestLabelCheck(t *testing.T) {
	for name, test := range map[string]struct {
		labels []string
		want   string // in the error, "" for none
	}{
		"none of one's own": {},
		"six before ours":   {labels: numbered("a", 6)},
		"seven before ours": {numbered("a", 7), "of 11 they lose trace_id;"},
		"ten before ours":   {numbered("a", 10), "of 14 they lose profile_id, span_id, span_name, trace_id;"},
		"twenty after ours": {labels: numbered("z", 20)},
		"a key of 15":       {labels: []string{"key_of_15_bytes=x"}},
		"a long key":        {[]string{"key_of_16_bytes_=x"}, "cut key_of_16_bytes_ to 15"},
		"a value of 47":     {labels: []string{"user=" + strings.Repeat("x", 47)}},
		"a long value":      {[]string{"user=" + strings.Repeat("x", 48)}, "cut user to 15 bytes of key and 47 of value"},
	} {
		t.Run(name, func(t *testing.T) {
			var check ebpfbridge.LabelCheck
			err := check.Export(t.Context(), labelled(test.labels...))
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got %v", err)
			case test.want != "" && (!errors.Is(err, ebpfbridge.ErrLabelBudget) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err := check.Export(t.Context(), labelled(numbered("a", 10)...)); (err == nil) != (test.want != "") {
				t.Errorf("the second profile: got %v, want one error in all", err)
			}
		})
	}
}

func TestLabelCheckSpansOnly(t *testing.T) {
	p := labelled(numbered("a", 20)...)
	parsed, err := p.Parsed()
	if err != nil {
		t.Fatal(err)
	}
	delete(parsed.Sample[0].Label, "span_id")
	var check ebpfbridge.LabelCheck
	if err := check.Export(t.Context(), p); err != nil {
		t.Errorf("without a span: %v", err)
	}
}
