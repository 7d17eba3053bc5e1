// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/marker/decode"
	"github.com/spanprof/spanprof/internal/termtext"
)

// Leaks is the leaked goroutines of the process by the name of their span, the most first.
type Leaks struct {
	Names []Root `json:"names"`
	// NamesOmitted is the number of further names.
	NamesOmitted int    `json:"namesOmitted,omitempty"`
	Note         string `json:"note"`
}

// leakProfile is the profile of the Go runtime that has leaked goroutines.
const leakProfile = "goroutineleak"

const (
	leaksNeed = "Leaked goroutines are found in a program built with Go 1.27, or with Go 1.26 and GOEXPERIMENT=goroutineleakprofile."
	leaksNote = "A leaked goroutine waits for a channel or lock that no running code can reach. Go misses those that a global variable or a timer can reach."
)

// leaksLack returns what the program needs to find leaks, "" for nothing.
func leaksLack() string {
	if pprof.Lookup(leakProfile) == nil {
		return leaksNeed
	}
	return ""
}

// Leaks answers the leaked goroutines of this process. It costs a garbage collection. here is set
// if the spans are of this process.
func (r *Reader) Leaks(here bool) (*Leaks, error) {
	if !here {
		return nil, BadRequestf("this viewer lists no goroutines: viewer.WithRunning does")
	}
	if lack := leaksLack(); lack != "" {
		return nil, BadRequestf("%s", lack)
	}
	var b bytes.Buffer
	if err := pprof.Lookup(leakProfile).WriteTo(&b, 0); err != nil {
		return nil, fmt.Errorf("leaked goroutines: %w", err)
	}
	p, err := profile.ParseData(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("leaked goroutines: %w", err)
	}
	decode.Label(p)
	a := &Leaks{Names: leaked(p, flameql.Query{Type: r.cpuType()}), Note: r.notes(leaksNote)}
	if more := len(a.Names) - maxRoots; more > 0 {
		a.Names, a.NamesOmitted = a.Names[:maxRoots], more
	}
	return answered(r, a)
}

// leaked returns the goroutines of a profile by span_name. q selects the samples of all names.
func leaked(p *profile.Profile, q flameql.Query) []Root {
	names := map[string]map[string]int{} // goroutines by name and by stack
	for _, s := range p.Sample {
		name := strings.Join(s.Label[labelkey.SpanName], "")
		var stack Stack
		for _, l := range s.Location {
			for _, line := range l.Line {
				if line.Function != nil {
					stack.Add(line.Function.Name, line.Function.Filename, int(line.Line))
				}
			}
		}
		if names[name] == nil {
			names[name] = map[string]int{}
		}
		names[name][strings.Join(stack.Frames, "\n")] += int(s.Value[0])
	}
	list := []Root{}
	for name, stacks := range names {
		root := Root{Name: cmp.Or(name, "(no span)"), Query: q.WithEqual(labelkey.SpanName, name).String()}
		for frames, n := range stacks {
			root.Goroutines += n
			root.Stacks = append(root.Stacks, Stack{Goroutines: n, Frames: strings.Split(frames, "\n")})
		}
		slices.SortFunc(root.Stacks, func(a, b Stack) int {
			return cmp.Or(cmp.Compare(b.Goroutines, a.Goroutines), slices.Compare(a.Frames, b.Frames))
		})
		list = append(list, root)
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
	if a.NamesOmitted > 0 {
		fmt.Fprintf(&b, "\nand %s\n", termtext.Plural(a.NamesOmitted, "more name"))
	}
	return b.String()
}
