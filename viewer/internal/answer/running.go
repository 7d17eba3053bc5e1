// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/marker/decode"
	"github.com/spanprof/spanprof/internal/termtext"
)

// Running is the local roots with labels on a goroutine now, the oldest first.
type Running struct {
	Status *Status `json:"status,omitempty"`
	Roots  []Root  `json:"roots"`
	// Note is what the list lacks.
	Note string `json:"note"`
	// LeaksLack is what the program needs to find leaked goroutines, "" for nothing.
	LeaksLack string `json:"leaksLack,omitempty"`
}

// Root is an open local root, work with a profile_id of its own, or a name of spans.
type Root struct {
	ProfileID string `json:"profileId,omitempty"`
	TraceID   string `json:"traceId,omitempty"`
	Name      string `json:"name,omitempty"`
	// AgeNs is the time since the start; 0 if it is unknown.
	AgeNs      int64   `json:"ageNs,omitempty"`
	Goroutines int     `json:"goroutines"`
	Stacks     []Stack `json:"stacks"`
	// places has the index in Stacks by the frames.
	places map[string]int
	// Query selects its samples.
	Query string `json:"query"`
}

// Stack is a place with some goroutines. A frame is a function with file and line, the
// innermost first.
type Stack struct {
	Goroutines int      `json:"goroutines"`
	Frames     []string `json:"frames"`
}

// Add adds goroutines at one place.
func (r *Root) Add(goroutines int, frames []runtime.Frame) {
	var text []string
	for _, f := range frames {
		text = append(text, fmt.Sprintf("%s  %s:%d", f.Function, path.Base(f.File), f.Line))
	}
	key := strings.Join(text, "\n")
	place, known := r.places[key]
	if !known {
		if r.places == nil {
			r.places = map[string]int{}
		}
		place = len(r.Stacks)
		r.places[key] = place
		r.Stacks = append(r.Stacks, Stack{Frames: text})
	}
	r.Goroutines += goroutines
	r.Stacks[place].Goroutines += goroutines
}

const maxRoots = 200

const runningNote = "An open span is listed while a goroutine carries its labels. " +
	"A span is missing if its goroutine carries the labels of another span, or none. " +
	"Labels of pprof.Do have no age. On a Go version that spanprof does not recognise spans have no age."

// Running answers what runs now. A nil list means that the viewer has none. leaks is set if it finds
// leaked goroutines.
func (r *Reader) Running(list func(now time.Time) []Root, leaks bool) (*Running, error) {
	if list == nil {
		return nil, BadRequestf("this viewer lists no goroutines: viewer.WithRunning does")
	}
	a := &Running{Status: r.status, Roots: list(time.Now()), Note: r.notes(runningNote)}
	if !leaks {
		a.LeaksLack = leaksLack
	}
	if more := len(a.Roots) - maxRoots; more > 0 {
		a.Roots = a.Roots[:maxRoots]
		a.Note += " " + termtext.Plural(more, "more local root") + " left out."
	}
	q := flameql.Query{Type: r.cpuType()}
	for i := range a.Roots {
		root := &a.Roots[i]
		root.Query = q.WithEqual(labelkey.ProfileID, root.ProfileID).String()
	}
	return answered(r, a)
}

// textFrames bounds the frames of a root in text, textRoots the lines of all.
const (
	textFrames = 20
	textRoots  = 36
)

// Text returns the list for a terminal.
func (a *Running) Text() string {
	var b strings.Builder
	termtext.Prose(&b, "note", 9, a.Note)
	termtext.Prose(&b, "leaks", 9, cmp.Or(a.LeaksLack, "a POST to leaks has leaked goroutines; it costs one garbage collection"))
	writeRoots(&b, a.Roots, func(r *Root) string {
		text := "  " + termtext.Plural(r.Goroutines, "goroutine")
		if r.AgeNs > 0 {
			text += "  " + nanoseconds(r.AgeNs)
		}
		return text
	})
	return b.String()
}

// writeRoots writes roots with their stacks while there is room. about describes one.
func writeRoots(b *strings.Builder, roots []Root, about func(*Root) string) {
	for i := range roots {
		text := roots[i].text(about(&roots[i]))
		if strings.Count(b.String(), "\n")+strings.Count(text, "\n") > textRoots {
			fmt.Fprintf(b, "\n%d more in JSON\n", len(roots)-i)
			return
		}
		b.WriteString(text)
	}
}

func (r *Root) text(about string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s%s  %s\n", termtext.OneLine(cmp.Or(r.Name, r.ProfileID)), about, termtext.OneLine(r.Query))
	for _, s := range r.Stacks[:min(1, len(r.Stacks))] {
		for _, f := range s.Frames[:min(textFrames, len(s.Frames))] {
			fmt.Fprintf(&b, "    %s\n", termtext.OneLine(f))
		}
	}
	if len(r.Stacks) > 1 {
		fmt.Fprintf(&b, "  and %s\n", termtext.Plural(len(r.Stacks)-1, "more stack"))
	}
	return b.String()
}

// Leaks is the leaked goroutines of the process by the name of their span, the most first.
type Leaks struct {
	Names []Root `json:"names"`
	Note  string `json:"note"`
}

const (
	leaksLack = "Leaked goroutines are found in a program built with Go 1.27, or with Go 1.26 and GOEXPERIMENT=goroutineleakprofile."
	leaksNote = "A leaked goroutine waits for a channel or lock that no running code can reach. Go misses those that a global variable or a timer can reach."
)

// Leaks answers the leaked goroutines in a profile. nil means that the program cannot find them.
func (r *Reader) Leaks(pprof []byte) (*Leaks, error) {
	if pprof == nil {
		return nil, BadRequestf("%s", leaksLack)
	}
	p, err := profile.ParseData(pprof)
	if err != nil {
		return nil, fmt.Errorf("leaked goroutines: %w", err)
	}
	decode.Label(p)
	return answered(r, &Leaks{leaked(p, flameql.Query{Type: r.cpuType()}), r.notes(leaksNote)})
}

// leaked returns the goroutines of a profile by span_name. q selects the samples of all names.
func leaked(p *profile.Profile, q flameql.Query) []Root {
	names := map[string]*Root{}
	for _, s := range p.Sample {
		name := strings.Join(s.Label[labelkey.SpanName], "")
		root := names[name]
		if root == nil {
			root = &Root{Name: cmp.Or(name, "(no span)"), Query: q.WithEqual(labelkey.SpanName, name).String()}
			names[name] = root
		}
		var frames []runtime.Frame
		for _, l := range s.Location {
			for _, line := range l.Line {
				if line.Function != nil {
					frames = append(frames, runtime.Frame{Function: line.Function.Name, File: line.Function.Filename, Line: int(line.Line)})
				}
			}
		}
		root.Add(int(s.Value[0]), frames)
	}
	list := []Root{}
	for _, root := range names {
		slices.SortFunc(root.Stacks, func(a, b Stack) int {
			return cmp.Or(cmp.Compare(b.Goroutines, a.Goroutines), slices.Compare(a.Frames, b.Frames))
		})
		list = append(list, *root)
	}
	slices.SortFunc(list, func(a, b Root) int {
		return cmp.Or(cmp.Compare(b.Goroutines, a.Goroutines), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// Text returns the leaks for a terminal.
func (a *Leaks) Text() string {
	var b strings.Builder
	if len(a.Names) == 0 {
		b.WriteString("no leaked goroutine was found\n")
	}
	termtext.Prose(&b, "note", 9, a.Note)
	writeRoots(&b, a.Names, func(r *Root) string { return " leaked " + termtext.Plural(r.Goroutines, "goroutine") })
	return b.String()
}
