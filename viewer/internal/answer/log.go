// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

// Log is what the source and the profiler have done.
type Log struct {
	Status *Status     `json:"status,omitempty"`
	Stats  store.Stats `json:"stats"`
	// Kinds are the windows held, by kind.
	Kinds []sums.Windows `json:"kinds"`
	// Fixed is set if the source receives nothing while it is read: Stats are zero, and nothing
	// happens.
	Fixed bool `json:"fixed,omitempty"`
	// Ranged is set if the source cannot be searched as a whole: Kinds have service, version and
	// kind only.
	Ranged bool `json:"ranged,omitempty"`
	// Note is a remark about the source.
	Note string `json:"note,omitempty"`
}

// Log answers the log.
func (r *Reader) Log() (*Log, error) {
	l := &Log{Status: r.status, Stats: r.stats, Kinds: sums.ByKind(r.allWindows()), Fixed: r.fixed(), Ranged: r.ranged()}
	l.Note = r.notes()
	return answered(r, l)
}

// Text returns the log for a terminal.
func (l *Log) Text() string {
	var b strings.Builder
	if s := l.Status; s != nil {
		switch {
		case s.Message != "":
			termtext.Prose(&b, "status", 9, s.Message)
		case !s.WindowEnd.IsZero():
			fmt.Fprintf(&b, "status   profiling; the window is open until %s\n", s.WindowEnd.UTC().Format("15:04:05 MST"))
		}
		s.SelfCheck.write(&b, true)
		for _, c := range s.Counters {
			fmt.Fprintf(&b, "         %s: %s\n", termtext.OneLine(c.Name), termtext.Value(int64(c.Value), c.Unit))
		}
	}
	writeNote(&b, l.Note)
	numbers, _ := json.MarshalIndent(map[string]any{"stats": l.Stats, "kinds": l.Kinds}, "", " ") // Numbers, texts and times can be encoded.
	b.Write(numbers)
	b.WriteByte('\n')
	return b.String()
}
