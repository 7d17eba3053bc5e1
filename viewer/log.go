// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/store"
)

// log is what the store and the profiler have done.
type log struct {
	Status *statusJSON `json:"status,omitempty"`
	Stats  statsJSON   `json:"stats"`
	// Kinds are the windows held, by kind.
	Kinds []windowsJSON `json:"kinds"`
	// Events are what happened to windows, the newest first.
	Events []eventJSON `json:"events"`
}

// eventJSON is something that happened to a window.
type eventJSON struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Kind    string    `json:"kind"`
	Service string    `json:"service"`
	Samples int64     `json:"samples"`
	Bytes   int64     `json:"bytes"`
	// Text is the error of a window that was refused.
	Text string `json:"text,omitempty"`
}

// serveLog answers the log.
func (h *handler) serveLog(_ *http.Request, _ url.Values, f format) (response, error) {
	switch f {
	case formatHTML:
		return pageResponse(), nil
	case formatPprof, formatFolded:
		return response{}, badRequestf("the log is no profile and has no %s form", f)
	}
	l := h.log()
	if f == formatText {
		return textResponse(l.text()), nil
	}
	return jsonResponse(l)
}

func (h *handler) log() *log {
	l := &log{
		Status: h.statusJSON(),
		Stats:  newStatsJSON(h.store.Stats()),
		Kinds:  windowsByKind(h.store.Windows(store.WindowQuery{})),
		Events: []eventJSON{},
	}
	for _, e := range slices.Backward(h.store.Log()) {
		l.Events = append(l.Events, eventJSON{
			Time: e.Time, Type: string(e.Type), Kind: string(e.Kind), Service: e.Service, Samples: e.Samples, Bytes: e.Bytes, Text: e.Text,
		})
	}
	return l
}

// textEvents is how many events the text form has.
const textEvents = 30

// text is the log for a terminal.
func (l *log) text() string {
	var b strings.Builder
	if s := l.Status; s != nil {
		switch {
		case s.Message != "":
			name := "status"
			for _, part := range wrap(oneLine(s.Message), textColumns-9) {
				fmt.Fprintf(&b, "%-9s%s\n", name, part)
				name = ""
			}
		case !s.WindowEnd.IsZero():
			fmt.Fprintf(&b, "status   profiling; the window is open until %s\n", s.WindowEnd.UTC().Format("15:04:05 MST"))
		}
		for _, c := range s.Counters {
			fmt.Fprintf(&b, "         %s: %s\n", oneLine(c.Name), formatValue(int64(c.Value), c.Unit))
		}
	}
	fmt.Fprintf(&b, "store    %s of %s; %s and %s held\n", formatValue(l.Stats.Bytes, unitBytes), formatValue(l.Stats.MaxBytes, unitBytes), plural(l.Stats.Spans, "span"), plural(l.Stats.Windows, "window"))
	fmt.Fprintf(&b, "         %s evicted; windows: %d received, %d evicted, %d refused as too big, %d not readable\n", plural(l.Stats.SpansEvicted, "span"), l.Stats.WindowsReceived, l.Stats.WindowsEvicted, l.Stats.WindowsRefused, l.Stats.ParseErrors)
	for _, k := range l.Kinds {
		fmt.Fprintf(&b, "%-8s %s of %s, %s: %s, %s\n", oneLine(k.Kind), plural(k.Windows, "window"), clip(oneLine(k.Service), 12), textRange(k.From, k.Until), plural(k.Samples, "sample"), formatValue(k.Bytes, unitBytes))
	}
	if len(l.Events) == 0 {
		b.WriteString("no event\n")
		return b.String()
	}
	shown := l.Events[:min(len(l.Events), textEvents)]
	times := make([]time.Time, len(shown))
	for i, e := range shown {
		times[i] = e.Time
	}
	when := newTimeColumn(times)
	fmt.Fprintf(&b, "\n%-*s %-9s %-10s %8s %10s  %s\n", when.width(), when.title, "event", "kind", "samples", "bytes", "service")
	for _, e := range shown {
		fmt.Fprintf(&b, "%s %-9s %-10s %8d %10s  %s\n", when.format(e.Time), e.Type, oneLine(e.Kind), e.Samples, formatValue(e.Bytes, unitBytes), clip(oneLine(e.Service), textColumns-when.width()-43))
		if e.Text != "" {
			for _, part := range wrap(oneLine(e.Text), textColumns-when.width()-1) {
				fmt.Fprintf(&b, "%*s %s\n", when.width(), "", part)
			}
		}
	}
	if more := len(l.Events) - textEvents; more > 0 {
		fmt.Fprintf(&b, "%19s %s\n", "...", plural(more, "older event"))
	}
	return b.String()
}
