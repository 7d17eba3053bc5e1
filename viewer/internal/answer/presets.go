// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// presetTime is how long each side of the preset of the last minutes is.
const presetTime = 5 * time.Minute

// Preset is a comparison that people ask for often.
type Preset struct {
	// Name is recent, version or process.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Left is what Right is compared with; both are nil where there is nothing to
	// compare yet, of which Note says why.
	Left  *PresetSide `json:"left,omitempty"`
	Right *PresetSide `json:"right,omitempty"`
	Note  string      `json:"note,omitempty"`
}

// PresetSide is a query and its time in unix milliseconds; 0 leaves that end open.
type PresetSide struct {
	Query string `json:"query"`
	From  int64  `json:"from,omitempty"`
	Until int64  `json:"until,omitempty"`
}

// presets returns the comparisons of what q selects over time. There are none of a source
// that cannot be looked through.
func (r *Reader) presets(q Query) []Preset {
	if r.ranged() || r.err != nil {
		return nil
	}
	var windows []store.WindowInfo
	for _, w := range r.allWindows() {
		if w.Kind == q.Type.Kind && q.about(w) {
			windows = append(windows, w)
		}
	}
	if len(windows) == 0 {
		return nil
	}
	list := []Preset{recentPreset(q, windows)}
	if p := versionPreset(q, windows); p != nil {
		list = append(list, *p)
	}
	return list
}

func end(w store.WindowInfo) time.Time { return w.Start.Add(w.Duration) }

// recentPreset compares the last minutes with those before.
func recentPreset(q Query, windows []store.WindowInfo) Preset {
	first, last := windows[0].Start, end(windows[0])
	for _, w := range windows {
		if w.Start.Before(first) {
			first = w.Start
		}
		if end(w).After(last) {
			last = end(w)
		}
	}
	half := min(presetTime, last.Sub(first)/2)
	// A window that has a part in a time counts fully: each side begins with a window.
	beginning := func(from time.Time) time.Time {
		begins := last
		for _, w := range windows {
			// Windows do not begin to the nanosecond where the last one ended.
			if !w.Start.Before(from.Add(-w.Duration/10)) && w.Start.Before(begins) {
				begins = w.Start
			}
		}
		return begins
	}
	cut := beginning(last.Add(-half))
	from := beginning(cut.Add(-half))
	if !from.Before(cut) || !cut.Before(last) {
		held := last.Sub(cut)
		if held == 0 {
			held = last.Sub(first)
		}
		return Preset{Name: "recent", Title: "Last 5 min against the 5 before", Note: "no profile is held of the time just before the last " + inWords(held)}
	}
	now, before := inWords(last.Sub(cut)), inWords(cut.Sub(from))
	p := Preset{Name: "recent", Title: fmt.Sprintf("Last %s against the %s before", now, before), Left: side(q, from, cut), Right: side(q, cut, last)}
	if now == before && strings.HasSuffix(now, " min") {
		p.Title = fmt.Sprintf("Last %s against the %s before", now, strings.TrimSuffix(before, " min"))
	}
	// Such a window is in the time of both sides.
	if slices.ContainsFunc(windows, func(w store.WindowInfo) bool {
		return w.Start.UnixMilli() < p.Left.Until && end(w).UnixMilli() > p.Right.From
	}) {
		p.Note = "profiles that began before the last " + now + " and ended in them count on both sides"
	}
	if half < presetTime {
		p.Note = joinNotes(p.Note, "the profiles go back "+inWords(last.Sub(first))+", less than twice 5 min")
	}
	return p
}

// side returns a side with the time kept clear of the windows beside it.
func side(q Query, from, until time.Time) *PresetSide {
	q.From, q.Until = time.Time{}, time.Time{}
	return &PresetSide{Query: q.String(), From: from.UnixMilli() + 1, Until: until.UnixMilli() - 2}
}

// versionPreset compares the newest version of the service with the newest windows with the
// one before it or, if all are of one version, this process with the one before it; nil where
// there is one process of one version.
func versionPreset(q Query, windows []store.WindowInfo) *Preset {
	newest := slices.MaxFunc(windows, func(a, b store.WindowInfo) int { return end(a).Compare(end(b)) })
	var version, process *store.WindowInfo
	for i := range windows {
		w := &windows[i]
		if w.Service != newest.Service {
			continue
		}
		if w.ServiceVersion != newest.ServiceVersion && (version == nil || end(*w).After(end(*version))) {
			version = w
		}
		if w.Earlier != newest.Earlier && w.Earlier != nil && (process == nil || end(*w).After(end(*process))) {
			process = w
		}
	}
	of := func(v string) *PresetSide { return &PresetSide{Query: q.ofVersion(newest.Service, v)} }
	switch {
	case version != nil:
		return &Preset{
			Name: "version", Title: fmt.Sprintf("Version %s against %s", orNone(newest.ServiceVersion), orNone(version.ServiceVersion)),
			Left: of(version.ServiceVersion), Right: of(newest.ServiceVersion),
		}
	case process != nil:
		span := func(earlier *store.Process) (from, until time.Time) {
			for _, w := range windows {
				if w.Service != newest.Service || w.Earlier != earlier {
					continue
				}
				if from.IsZero() || w.Start.Before(from) {
					from = w.Start
				}
				if end(w).After(until) {
					until = end(w)
				}
			}
			return from, until
		}
		title := "This process against the earlier one"
		if newest.Earlier != nil {
			title = "The last process against the one before"
		}
		leftFrom, leftUntil := span(process.Earlier)
		rightFrom, rightUntil := span(newest.Earlier)
		return &Preset{
			Name: "process", Title: title,
			Left: side(q, leftFrom, leftUntil), Right: side(q, rightFrom, rightUntil),
			Note: newEarlierProcess(process.Earlier).text(),
		}
	}
	return nil
}

// text writes the preset with the parameters of ./comparison-diff.
func (p *Preset) text(b *strings.Builder) {
	termtext.Prose(b, "compare", 9, strings.TrimSuffix(p.Title+": "+p.Note, ": "))
	for _, s := range []struct {
		name string
		*PresetSide
	}{{"left", p.Left}, {"right", p.Right}} {
		if s.PresetSide == nil {
			continue
		}
		fmt.Fprintf(b, "         %sQuery=%s", s.name, termtext.OneLine(s.Query))
		if s.From != 0 {
			fmt.Fprintf(b, " %sFrom=%d %sUntil=%d", s.name, s.From, s.name, s.Until)
		}
		b.WriteByte('\n')
	}
}

func orNone(version string) string {
	if version == "" {
		return "(none)"
	}
	return version
}

// inWords writes a time to the second.
func inWords(d time.Duration) string {
	d = d.Round(time.Second)
	switch minutes, seconds := d/time.Minute, d%time.Minute/time.Second; {
	case minutes == 0:
		return fmt.Sprintf("%d s", seconds)
	case seconds == 0:
		return fmt.Sprintf("%d min", minutes)
	default:
		return fmt.Sprintf("%d min %d s", minutes, seconds)
	}
}
