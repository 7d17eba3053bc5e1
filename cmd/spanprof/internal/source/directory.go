// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"path/filepath"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/columns"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/profiledir"
)

// snapshot is a profile that counts since its process began.
type snapshot struct {
	path   string
	parsed *profile.Profile
}

// directory is one directory while it is read.
type directory struct {
	kinds     []exporter.Kind
	failed    func(error) error
	each      func(*Profile) error
	recording *Recording // nil if there is none
	// replica is the run that the recording is of: the directory in which the first
	// recording of it is.
	replica string
	last    map[exporter.Kind]snapshot
	// run is the run of the newest profile that names one.
	run string
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
		return d.failed(err)
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
		return d.failed(fmt.Errorf("%s: a %s profile, want %v", path, columns.Split(parsed, path)[0].Kind, d.kinds))
	}
	return nil
}

// take passes a profile of one kind on, or its difference to the one before it.
func (d *directory) take(path string, kind exporter.Kind, parsed *profile.Profile) error {
	if d.recording == nil || !Cumulative(kind) {
		return d.give(path, kind, parsed)
	}
	before, ok := d.last[kind]
	d.last[kind] = snapshot{path, parsed}
	if !ok {
		return nil
	}
	delta, err := Delta(before.parsed, parsed)
	if err != nil {
		return d.failed(fmt.Errorf("%s: its difference to %s: %w", path, filepath.Base(before.path), err))
	}
	return d.give(path, kind, delta)
}

func (d *directory) wants(kind exporter.Kind) bool { return wants(d.kinds, kind) }

func (d *directory) give(path string, kind exporter.Kind, parsed *profile.Profile) error {
	w := windowOf(kind, parsed)
	p := &Profile{Name: path}
	if d.recording != nil {
		w.Resource = d.recording.Attributes()
		p.Replica = d.replica
	} else {
		name, ok := profiledir.Parse(path)
		if name.Service != "" {
			w.Resource = resource.NewSchemaless(attribute.String("service.name", name.Service))
		}
		if ok && Cumulative(kind) && w.Duration == 0 && w.Start.After(name.Start) {
			// Profiles of this project that are differences: pprof has their end.
			w.Start, w.Duration = name.Start, w.Start.Sub(name.Start)
		}
		p.Replica = d.runOf(path, parsed)
	}
	p.Profile = exporter.NewParsedProfile(w, parsed)
	if err := d.each(p); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// runOf names the run that a profile of a directory without description is of.
// The file exporter goes on in a directory after a restart. Its profiles of wall
// time have no mappings, and are of the run before them.
func (d *directory) runOf(path string, p *profile.Profile) string {
	run := Run(p)
	if _, ok := profiledir.Parse(path); ok && run == "" {
		run = d.run
	}
	if run == "" {
		return ""
	}
	d.run = run
	return filepath.Dir(path) + " " + run
}
