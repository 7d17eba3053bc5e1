// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/exectrace"
)

// knownWaits is a trace of internal/integration/knownwaits.
const knownWaits = "../../exectrace/testdata/go1.26.trace"

func TestTrace(t *testing.T) {
	code, stdout, stderr := spanprof(t, "trace", knownWaits, "mutex")
	if code != exitDone || stderr != "" {
		t.Fatalf("code %d, stderr %q", code, stderr)
	}
	for _, want := range []string{"SPAN mutex ", `of span "refresh cache"`, "sleep 20.23 ms in load from disk\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "SPAN cond") {
		t.Errorf("the name mutex shows other spans:\n%s", stdout)
	}
}

// Bytes are shown from 100 kB on, of one span or of the spans of a name.
func TestTraceAllocated(t *testing.T) {
	var b strings.Builder
	if err := writeTrace(&b, &exectrace.Analysis{Spans: []exectrace.Span{
		{Name: "large", AllocatedBytes: 1 << 20}, {Name: "small", AllocatedBytes: 60_000}, {Name: "small", AllocatedBytes: 60_000}, {Name: "tiny", AllocatedBytes: 60_000},
	}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  about 1.00 MiB allocated\n", "\nabout 117 KiB allocated by 2 spans small\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if n := strings.Count(b.String(), "allocated"); n != 2 {
		t.Errorf("%d lines with bytes, want 2, in\n%s", n, &b)
	}
}

func TestTraceJSON(t *testing.T) {
	code, stdout, stderr := spanprof(t, "trace", "-json", "-n", "3", knownWaits)
	var a exectrace.Analysis
	if err := json.Unmarshal([]byte(stdout), &a); code != exitDone || err != nil || len(a.Spans) != 3 {
		t.Fatalf("code %d, stderr %q, %d spans, %v", code, stderr, len(a.Spans), err)
	}
	// The same span, by its id.
	id := a.Spans[1].ID
	_, stdout, _ = spanprof(t, "trace", "-json", knownWaits, strings.ToUpper(id))
	var one exectrace.Analysis
	if err := json.Unmarshal([]byte(stdout), &one); err != nil || len(one.Spans) != 1 || one.Spans[0].ID != id {
		t.Errorf("id %s: %d spans, %v", id, len(one.Spans), err)
	}
}

func TestTraceRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "name one FILE"},
		{[]string{knownWaits, "mutex", "cond"}, "name one FILE"},
		{[]string{"-n", "0", knownWaits}, "-n must be from 1 to 1000"},
		{[]string{filepath.Join(dir, "missing")}, "no such file"},
		{[]string{dir}, "is a directory"},
		{[]string{"main.go"}, "no execution trace of Go 1.22 to 1.27"},
		{[]string{knownWaits, "0123456789abcdef"}, "no local root"},
	} {
		code, stdout, stderr := spanprof(t, append([]string{"trace"}, test.args...)...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("trace %q: code %d, stdout %q, stderr %q, want %q", test.args, code, stdout, stderr, test.want)
		}
	}
}
