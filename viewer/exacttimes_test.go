// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// exactTimes is what package exectrace stores, of a span that began 10 ms after its record.
const exactTimes = `{"format":"go 1.26","start":"2026-01-02T03:04:05.01Z","id":"x","name":"GET /","startNs":1,"durationNs":50000000,
"goroutines":[{"id":7,"startNs":0,"endNs":50000000,"states":[{"state":"mutex","durationNs":30000000},{"state":"running","durationNs":19000000}]}],
"holes":[{"reason":"the trace does not tell","startNs":49000000,"durationNs":1000000}],
"waits":[{"state":"mutex","durationNs":30000000,"count":1,"goroutine":7,"stack":[{"func":"sync.(*Mutex).Lock","file":"sync/mutex.go","line":1},{"func":"main.serve","file":"shop/main.go","line":5}],
"blockers":[{"goroutine":8,"spanId":"0123456789abcdef","span":"refresh cache","durationNs":30000000,"did":[{"state":"sleep","durationNs":30000000,"child":"load from disk"}]}]}],"path":[]}`

func TestExactTimes(t *testing.T) {
	s, root, _ := newPair(t)
	if err := s.AddExactTimes(root, json.RawMessage(exactTimes)); err != nil {
		t.Fatal(err)
	}
	h := viewer.Handler(s)
	a := profileOf(t, h, byID(root))
	if want := strings.ReplaceAll(exactTimes, "\n", ""); !a.Span.HasExactTimes || string(a.Span.ExactTimes) != want {
		t.Errorf("exact times %t: %s, want %s", a.Span.HasExactTimes, a.Span.ExactTimes, want)
	}
	text := get(t, h, target("/", "query", byID(root), "format", "text")).Body.String()
	if want := `30.0 ms mutex 30.0 ms by span "refresh cache" 0123456789abcdef`; !strings.Contains(strings.Join(strings.Fields(text), " "), want) { // lines are broken
		t.Errorf("no %q in\n%s", want, text)
	}

	if want := ": 19.0 ms on a CPU, 951 ms not sampled, 30.0 ms mutex"; a.Answer == nil || !strings.Contains(a.Answer.Sentence, want) {
		t.Errorf("the answer is %+v, want %q", a.Answer, want)
	}
	if want := []answer.Blocker{{State: "mutex", Span: "refresh cache", SpanID: "0123456789abcdef", Ns: 30_000_000}}; !reflect.DeepEqual(a.Answer.Blockers, want) {
		t.Errorf("blockers %+v, want %+v", a.Answer.Blockers, want)
	}

	list := listOf(t, h)
	for _, span := range list.Spans {
		if span.HasExactTimes != (span.ProfileID == root) || len(span.ExactTimes) > 0 {
			t.Errorf("in the list, span %s has exact times %t: %s", span.ProfileID, span.HasExactTimes, span.ExactTimes)
		}
	}
}

// The bytes of one span are shown from 100 kB on, below that the sum of its name.
func TestAllocated(t *testing.T) {
	s := newStore(t)
	tracer := newTracer(s, shop)
	for _, each := range []struct {
		spans, bytes int
		want         string
	}{
		{1, 60_000, ""},
		{1, 60_000, "about 117 KiB allocated by 2 spans of this name"},
		{20, 60_000, "about 1.14 MiB allocated by 20 spans of this name"}, // of 22
		{1, 1_300_000, "about 1.24 MiB allocated"},
	} {
		var id string
		for range each.spans {
			_, span := tracer.Start(t.Context(), "GET /")
			span.End()
			id = span.SpanContext().SpanID().String()
			times := fmt.Sprintf(`{"allocatedBytes":%d,"goroutines":[{"id":7}]}`, each.bytes)
			if err := s.AddExactTimes(id, json.RawMessage(times)); err != nil {
				t.Fatal(err)
			}
		}
		a := profileOf(t, viewer.Handler(s), byID(id))
		if a.Answer == nil || a.Answer.Allocated != each.want {
			t.Errorf("%d bytes: %+v, want %q", each.bytes, a.Answer, each.want)
		}
	}
}
