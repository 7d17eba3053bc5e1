// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"strconv"
	"testing"
)

func TestLabel(t *testing.T) {
	for attribute, want := range map[string]string{
		LabelPrefix + "user": "user", LabelPrefix + "span_id": "span_id", "span_id": "span_id", "trace_id": "trace_id",
		"profile_id": "profile_id", "thread.name": "", "span_name": "",
	} {
		if got, ok := Label(attribute); ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %q, %t, want %q", attribute, got, ok, want)
		}
	}
}

func TestWitnesses(t *testing.T) {
	span := map[string]string{"span_id": "1"}
	for name, tt := range map[string]struct {
		record       Record
		keyed        bool
		first, later string
	}{
		"labels":          {Record{Labels: span}, false, "first", "ambiguous"},
		"no labels":       {Record{}, false, "first", "ambiguous"},
		"Link":            {Record{Link: "a"}, false, "link", "link"},
		"labels and Link": {Record{Labels: span, Link: "a"}, false, "first", "link"},
		"keyed":           {Record{Labels: span, Link: "a"}, true, "labels", "labels"},
		"split":           {Record{Split: true}, true, "ambiguous", "ambiguous"},
	} {
		if first, later := tt.record.Witnesses(tt.keyed); first != tt.first || later != tt.later {
			t.Errorf("%s: got %s, %s, want %s, %s", name, first, later, tt.first, tt.later)
		}
	}
}

func TestKeyed(t *testing.T) {
	of := func(id, link, rest string, split bool) Record {
		return Record{Labels: map[string]string{"span_id": id}, Link: link, Rest: rest, Split: split}
	}
	for name, tt := range map[string]struct {
		list []Record
		want bool
	}{
		"labels":       {[]Record{of("1", "", "a", false), of("2", "", "a", false)}, true},
		"Link":         {[]Record{of("1", "", "a", false), of("1", "x", "a", false)}, true},
		"apart":        {[]Record{of("1", "", "a", false), of("3", "", "b", false), of("2", "", "a", false)}, true},
		"stack":        {[]Record{of("1", "", "a", false), of("2", "", "b", false)}, false},
		"equal":        {[]Record{of("1", "", "a", false), of("1", "", "a", false)}, false},
		"split before": {[]Record{of("1", "", "a", false), of("2", "", "a", true)}, false},
	} {
		if got := new(Agents).Keyed("agent", tt.list); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
	var a Agents
	twins := []Record{of("1", "", "a", false), of("2", "", "a", false)}
	for i := range 2 * maxAgents {
		a.Keyed(strconv.Itoa(i), twins)
	}
	if a.Keyed("0", nil) || !a.Keyed(strconv.Itoa(maxAgents), nil) || a.Keyed("another", nil) {
		t.Errorf("of %d agents, the newest %d are remembered, want these alone", 2*maxAgents, maxAgents)
	}
}
