// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// Preset is a comparison that is offered beside a time line.
type Preset struct {
	// Name is version.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Left is the baseline of Right.
	Left  PresetSide `json:"left"`
	Right PresetSide `json:"right"`
}

// PresetSide is one side of a comparison.
type PresetSide struct {
	Query string `json:"query"`
}

func end(w store.WindowInfo) time.Time { return w.Start.Add(w.Duration) }

// presets compares the newest version of the service with the newest window and the version
// before it. There is none if the source cannot be searched as a whole, or has one version.
func (r *Reader) presets(q Query) []Preset {
	if r.ranged() || r.err != nil {
		return nil
	}
	windows := slices.DeleteFunc(slices.Clone(r.allWindows()), func(w store.WindowInfo) bool {
		return w.Kind != q.Type.Kind || !q.about(w)
	})
	if len(windows) == 0 {
		return nil
	}
	byEnd := func(a, b store.WindowInfo) int { return end(a).Compare(end(b)) }
	newest := slices.MaxFunc(windows, byEnd)
	windows = slices.DeleteFunc(windows, func(w store.WindowInfo) bool {
		return w.Service != newest.Service || w.ServiceVersion == newest.ServiceVersion
	})
	if len(windows) == 0 {
		return nil
	}
	left, right := slices.MaxFunc(windows, byEnd).ServiceVersion, newest.ServiceVersion
	return []Preset{{
		Name:  "version",
		Title: fmt.Sprintf("Version %s against %s", cmp.Or(right, "(none)"), cmp.Or(left, "(none)")),
		Left:  PresetSide{q.ofVersion(newest.Service, left)},
		Right: PresetSide{q.ofVersion(newest.Service, right)},
	}}
}

// text writes the preset with the parameters of ./comparison-diff.
func (p *Preset) text(b *strings.Builder) {
	termtext.Prose(b, "compare", 9, p.Title)
	fmt.Fprintf(b, "         leftQuery=%s\n         rightQuery=%s\n", termtext.OneLine(p.Left.Query), termtext.OneLine(p.Right.Query))
}
