// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
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
