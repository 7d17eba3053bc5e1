// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
)

// How much of a span its text has: the JSON has all.
const (
	textWaits  = 12
	textSteps  = 12
	textOthers = 8 // of everything else
	textDid    = 3
)

// WriteText writes the analysis for people, in lines of about 100 columns.
func (a *Analysis) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of a trace in the format of %s: %s", ms(a.Duration), a.Format, termtext.Plural(a.Roots, "local root"))
	if a.Roots > len(a.Spans) {
		fmt.Fprintf(&b, ", %d of them below", len(a.Spans))
	}
	b.WriteString("\n")
	if a.BeganBefore > 0 {
		fmt.Fprintf(&b, "%s began before the trace: nothing is known of them.\n", termtext.Plural(a.BeganBefore, "span"))
	}
	if a.Cut {
		b.WriteString("The trace goes on, and was not read further: it has too many events.\n")
	}
	switch {
	case a.Roots == 0:
		b.WriteString("There are no spans. OpenTelemetry's SDK writes those into a trace that are recorded while it is on.\n")
	case a.Marked == 0:
		b.WriteString("The spans have no ids: github.com/spanprof/spanprof writes them into a trace.\n")
	}
	writeNames(&b, a.Names)
	for i := range a.Spans {
		a.Spans[i].write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeNames(b *strings.Builder, names []Name) {
	if len(names) == 0 {
		return
	}
	b.WriteString("\nBY NAME\n")
	for i := range names {
		if i == textOthers {
			fmt.Fprintf(b, "  and %d more\n", len(names)-i)
			break
		}
		n := &names[i]
		fmt.Fprintf(b, "  %s: %s, %s: %s\n", plain(n.Name), termtext.Plural(n.Spans, "span"), ms(n.Duration), shares(n.States, n.Duration))
		for _, by := range n.Blocked[:min(len(n.Blocked), textOthers)] {
			of := by.State + ", ended by " + plain(by.Span)
			if by.State == "mutex" || by.State == "rwmutex" {
				of = "locks held by " + plain(by.Span)
			}
			fmt.Fprintf(b, "    %s waits for %s (%s)\n", termtext.Percent(int64(by.Duration), int64(n.Duration)), of, ms(by.Duration))
		}
	}
}

func (s *Span) write(b *strings.Builder) {
	fmt.Fprintf(b, "\nSPAN %s", plain(s.Name))
	if s.ID != "" {
		fmt.Fprintf(b, " %s", s.ID)
	}
	fmt.Fprintf(b, ": %s, from %s of the trace on\n", ms(s.Duration), ms(s.Start))
	if s.Cut {
		b.WriteString("  It has too many events: not all were looked at.\n")
	}
	for i := range s.Goroutines {
		g := &s.Goroutines[i]
		if i == textOthers {
			fmt.Fprintf(b, "  and %s more\n", termtext.Plural(len(s.Goroutines)-i+s.GoroutinesOmitted, "goroutine"))
			break
		}
		fmt.Fprintf(b, "  goroutine %d%s, %s to %s: %s\n", g.ID, of(g.Child), ms(g.Start), ms(g.End), times(g.States))
	}
	for i, h := range s.Holes {
		if i == textOthers {
			fmt.Fprintf(b, "  and %s more\n", termtext.Plural(len(s.Holes)-i, "hole"))
			break
		}
		fmt.Fprintf(b, "  hole, %s from %s on: %s\n", ms(h.Duration), ms(h.Start), plain(h.Reason))
	}
	for i := range s.Waits {
		if i == textWaits {
			fmt.Fprintf(b, "  and %s more\n", termtext.Plural(len(s.Waits)-i+s.WaitsOmitted, "wait"))
			break
		}
		s.Waits[i].write(b)
	}
	for i, r := range s.Runners {
		if i == 0 && s.RunnersCut {
			b.WriteString("  while it was ready to run, there ran, among others not looked at\n")
		} else if i == 0 {
			b.WriteString("  while it was ready to run, there ran\n")
		}
		if i == textOthers {
			break
		}
		who := "goroutines of " + plain(r.Function)
		switch {
		case r.Same:
			who = "the span itself, on other goroutines"
		case r.Span != "":
			who = spanText(r.Span, r.SpanID)
		case r.Function == "":
			who = "goroutines from before the trace"
		}
		fmt.Fprintf(b, "    %9s  %s\n", ms(r.Duration), who)
	}
	s.writePath(b)
}

func (s *Span) writePath(b *strings.Builder) {
	if len(s.Goroutines) < 2 && len(s.Path) < 3 { // it says nothing new
		return
	}
	b.WriteString("  critical path\n")
	for i := range s.Path {
		p := &s.Path[i]
		if i == textSteps {
			fmt.Fprintf(b, "    and %s more\n", termtext.Plural(len(s.Path)-i, "step"))
			break
		}
		fmt.Fprintf(b, "    %9s  goroutine %d%s: %s\n", ms(p.Duration), p.Goroutine, of(p.Child), times(p.States))
	}
	if s.PathOmitted > 0 {
		fmt.Fprintf(b, "    %9s  is not known, or in many short steps\n", ms(s.PathOmitted))
	}
}

func (w *Wait) write(b *strings.Builder) {
	fmt.Fprintf(b, "  %9s  %s", ms(w.Duration), w.State)
	if w.Count > 1 {
		fmt.Fprintf(b, ", %d times", w.Count)
	}
	fmt.Fprintf(b, "%s at %s\n", of(w.Child), where(w.Stack))
	for i := range w.Blockers {
		if i == textOthers {
			fmt.Fprintf(b, "%13sand of %d more\n", "", len(w.Blockers)-i)
			break
		}
		by := &w.Blockers[i]
		if i > 0 && by.Duration < w.Duration/100 {
			continue
		}
		who := spanText(by.Span, by.SpanID)
		switch {
		case by.Same:
			who = "this span"
		case by.Span == "" && by.Function != "":
			who = "no span (" + plain(by.Function) + ")"
		case by.Span == "":
			who = "no span"
		}
		if i == 0 {
			fmt.Fprintf(b, "%13sended at %s by goroutine %d of %s, which meanwhile %s\n", "", where(w.Ended), by.Goroutine, who, did(by.Did))
		} else {
			fmt.Fprintf(b, "%13sthat waited for goroutine %d of %s, which meanwhile %s\n", "", by.Goroutine, who, did(by.Did))
		}
	}
}

// did says what a blocker did: "slept 20 ms in its child load from disk".
func did(list []Activity) string {
	var parts []string
	for i, d := range list {
		if i == textDid || i > 0 && d.Duration < list[0].Duration/100 {
			break
		}
		text := "was in state " + d.State + " for " + ms(d.Duration)
		switch d.State {
		case "running":
			text = "ran " + ms(d.Duration)
		case "sleep":
			text = "slept " + ms(d.Duration)
		case "runnable":
			text = "was ready to run for " + ms(d.Duration)
		case "syscall":
			text = "was in a system call for " + ms(d.Duration)
		case "mutex", "rwmutex", "channel", "select", "cond", "waitgroup", "network":
			text = "waited " + ms(d.Duration) + " (" + d.State + ")"
		}
		if d.Child != "" {
			text += " in its child " + plain(d.Child)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// where names the innermost function of a stack that is not of the runtime or of package
// sync: the one that people know.
func where(stack []Frame) string {
	for _, f := range stack {
		if !strings.HasPrefix(f.Func, "runtime.") && !strings.HasPrefix(f.Func, "sync.") && !strings.HasPrefix(f.Func, "internal/") &&
			!strings.HasPrefix(f.Func, "syscall.") && !strings.HasPrefix(f.Func, "time.Sleep") {
			return fmt.Sprintf("%s (%s:%d)", plain(f.Func), plain(path.Base(f.File)), f.Line)
		}
	}
	if len(stack) > 0 {
		return plain(stack[0].Func)
	}
	return "an unknown place"
}

func spanText(name, id string) string {
	if id == "" {
		return fmt.Sprintf("span %q", plain(name))
	}
	return fmt.Sprintf("span %q %s", plain(name), id)
}

func of(child string) string {
	if child == "" {
		return ""
	}
	return " in " + plain(child)
}

func times(list []StateTime) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, s.State+" "+ms(s.Duration))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func shares(list []StateTime, total time.Duration) string {
	var parts []string
	for i, s := range list {
		if i == textOthers {
			break
		}
		parts = append(parts, s.State+" "+termtext.Percent(int64(s.Duration), int64(total)))
	}
	return strings.Join(parts, ", ")
}

func plain(s string) string { return termtext.Clip(termtext.OneLine(s), termtext.MaxQuoted) }

// ms writes a duration as people compare them: in one unit.
func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }
