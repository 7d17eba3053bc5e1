// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/columns"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/profiledir"
)

// directory is one directory while it is read.
type directory struct {
	kind      exporter.Kind // the only one that is read, "" for all
	skip      func(error)
	each      func(*Profile) error
	path      string
	recording *Recording // nil if there is none
	// last are the newest profiles that count since their process began.
	last map[exporter.Kind]*profile.Profile
	// run is the run of the newest profile that names one. searched is set
	// if firstRun has looked for it.
	run      string
	searched bool
}

// open begins another directory.
func (d *directory) open(path string) {
	d.path, d.run, d.last = path, "", map[exporter.Kind]*profile.Profile{}
	d.searched = false
	var err error
	if d.recording, err = readRecording(path); err != nil {
		d.skip(err)
	}
}

// read reads one of the files. If only is true, the user named this file.
func (d *directory) read(path string, only bool) error {
	if name, ok := profiledir.Parse(path); ok && !only && !d.wants(name.Kind) {
		return nil
	}
	links := files.Follow
	if only {
		links = files.Named
	}
	parsed, err := ReadFile(path, links)
	if err != nil {
		d.skip(err)
		return nil
	}
	found := false
	for _, part := range columns.Split(parsed, path) {
		if kind := exporter.Kind(part.Kind); d.wants(kind) {
			found = true
			if err := d.take(path, kind, part.Profile); err != nil {
				return err
			}
		}
	}
	if only && !found {
		d.skip(fmt.Errorf("%s: a %s profile, want %s", path, columns.Split(parsed, path)[0].Kind, d.kind))
	}
	return nil
}

// take passes a profile of one kind on, or its difference to the one before it.
func (d *directory) take(path string, kind exporter.Kind, parsed *profile.Profile) error {
	replica := d.runOf(path, parsed) // a difference lacks the mapping
	if d.recording == nil || !Cumulative(kind) {
		return d.give(path, replica, kind, parsed)
	}
	before := d.last[kind]
	d.last[kind] = parsed
	if before == nil {
		return nil
	}
	delta, err := difference(before, parsed)
	switch {
	case errors.Is(err, errRestarted):
		return nil // it is the first of its run
	case err != nil:
		d.skip(fmt.Errorf("%s: its difference to the one before: %w", path, err))
		return nil
	}
	return d.give(path, replica, kind, delta)
}

func (d *directory) wants(kind exporter.Kind) bool { return d.kind == "" || d.kind == kind }

func (d *directory) give(path, replica string, kind exporter.Kind, parsed *profile.Profile) error {
	w := windowOf(kind, parsed)
	p := &Profile{Name: path, Replica: replica}
	if d.recording != nil {
		w.Resource = d.recording.Attributes()
	} else {
		name, ok := profiledir.Parse(path)
		if name.Service != "" {
			w.Resource = resource.NewSchemaless(attribute.String("service.name", name.Service))
		}
		if ok && Cumulative(kind) && w.Duration == 0 && w.Start.After(name.Start) {
			// Profiles of this project that are differences: pprof has their end.
			w.Start, w.Duration = name.Start, w.Start.Sub(name.Start)
		}
	}
	p.Profile = exporter.NewParsedProfile(w, parsed)
	return d.each(p)
}

// runOf names the run that a profile is of. The file exporter goes on in a directory after a
// restart. Its profiles of wall time have no mappings, and are of the run before them. The
// directory above a Recording is of the same address, which may be recorded again. A Recording
// may begin with a profile that names no run.
func (d *directory) runOf(path string, p *profile.Profile) string {
	run, dir := Run(p), filepath.Dir(path)
	if run == "" && d.run == "" && d.recording != nil && !d.searched {
		d.run, d.searched = firstRun(dir), true
	}
	if _, ok := profiledir.Parse(path); ok && run == "" {
		run = d.run
	}
	if run != "" {
		d.run = run
	}
	switch {
	case run != "" && d.recording != nil:
		return filepath.Dir(dir) + " " + run
	case run != "":
		return dir + " " + run
	case d.recording != nil:
		return dir
	}
	return ""
}

// firstRun returns the run of the first files of a Recording, "" if they name none. A CPU profile
// may lack the vDSO, which other kinds of the first windows have.
func firstRun(dir string) string {
	entries, err := files.Entries(dir, files.Follow)
	if err != nil {
		return "" // the profiles have such errors too
	}
	var names []string
	for _, e := range entries {
		if isProfile(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), 2*len(TargetKinds))] {
		if p, err := ReadFile(filepath.Join(dir, name), files.Follow); err == nil && Run(p) != "" {
			return Run(p)
		}
	}
	return ""
}

// windowOf returns the window of a profile by the times in it.
func windowOf(kind exporter.Kind, p *profile.Profile) exporter.Window {
	w := exporter.Window{Kind: kind, Duration: time.Duration(p.DurationNanos)}
	if p.TimeNanos != 0 {
		w.Start = time.Unix(0, p.TimeNanos)
	}
	return w
}

// errRestarted is the error for two profiles of different runs of a process.
var errRestarted = errors.New("the process was restarted in between")

// Run identifies the run of a process that a profile was taken of: by its
// binary, and by where Linux has put the vDSO, which is somewhere else in each
// run. It is empty where the profile does not distinguish runs.
func Run(p *profile.Profile) string {
	for _, m := range p.Mapping {
		if m.File == "[vdso]" {
			return fmt.Sprintf("%s %x %x", BuildID(p), p.Mapping[0].Start, m.Start)
		}
	}
	return ""
}

// maxText bounds the text about a program in its profile. File names have at most as many
// bytes, build ids some dozens.
const maxText = 255

// BuildID returns the build id of the program, the first mapping. It is empty if the linker
// has given none, or if the text is too long.
func BuildID(p *profile.Profile) string {
	if len(p.Mapping) == 0 || len(p.Mapping[0].BuildID) > maxText {
		return ""
	}
	return p.Mapping[0].BuildID
}

// difference returns the difference between two profiles that count since the process began.
// Live memory, the inuse values of a heap profile, is from the end. It returns errRestarted
// if they are of different runs. It changes begin: a copy may take 384 MiB more.
func difference(begin, end *profile.Profile) (*profile.Profile, error) {
	if a, b := Run(begin), Run(end); a != "" && b != "" && a != b {
		return nil, errRestarted
	}
	if len(begin.SampleType) != len(end.SampleType) {
		return nil, errRestarted // another binary
	}
	for _, s := range begin.Sample {
		for i, t := range begin.SampleType {
			if strings.HasPrefix(t.Type, "inuse_") {
				s.Value[i] = 0
			}
			s.Value[i] = -s.Value[i]
		}
	}
	delta, err := profile.Merge([]*profile.Profile{end, begin})
	if err != nil {
		return nil, err
	}
	for _, s := range delta.Sample {
		for _, v := range s.Value {
			if v < 0 { // nothing that is counted becomes less
				return nil, errRestarted
			}
		}
	}
	delta.TimeNanos = cmp.Or(begin.TimeNanos, end.TimeNanos)
	delta.DurationNanos = max(0, end.TimeNanos-begin.TimeNanos)
	return delta, nil
}
