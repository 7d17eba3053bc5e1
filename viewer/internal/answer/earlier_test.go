// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/store"
)

// The losses of a directory are shown, and no line without a loss.
func TestDirectoryLosses(t *testing.T) {
	text := func(d store.DirectoryStats) string {
		d.Path = "dir"
		var b strings.Builder
		newDirectory(d).write(&b)
		return b.String()
	}
	if got := text(store.DirectoryStats{Spans: 1, Windows: 2}); strings.Count(got, "\n") != 1 {
		t.Errorf("without a loss, got\n%s", got)
	}
	got := text(store.DirectoryStats{WriteFailures: 1, FilesUnreadable: 2, WindowsLeftOut: 3})
	for _, want := range []string{
		"directory: 1 file not written, 2 not readable\n",
		"no room in memory for 3 windows of earlier processes\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestProcessesThatAreNotToldApart(t *testing.T) {
	p := newEarlierProcess(&store.Process{})
	if got, want := p.text(), "one of the earlier processes that are too many to tell apart"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if data, err := json.Marshal(p); err != nil || string(data) != "{}" {
		t.Errorf("got %s, %v", data, err)
	}
}
