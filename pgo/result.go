// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/atomicfile"
)

// Result is a merged profile and what is in it.
type Result struct {
	// Profile is the profile for go build -pgo: CPU time, then counts of samples.
	Profile *profile.Profile
	// Samples is the number of CPU samples, CPU their time.
	Samples int64
	CPU     time.Duration
	// Replicas is the number of runs of processes with a usable profile.
	Replicas int
	// LeftOut has an error for each source that cannot be used. It begins with the name
	// of the source, and may wrap ErrNotCPU.
	LeftOut []error
	// Warnings are reasons why the profile may not help: too few samples, or samples of
	// different programs, for example. Each is a sentence.
	Warnings []string
}

// WriteFile writes the profile to a file, completely or not at all. It replaces a regular
// file. A link to that is kept.
func (r *Result) WriteFile(path string) error {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("write %s: it is not a regular file", path)
	default:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := r.Profile.Write(&b); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := atomicfile.Write(filepath.Dir(path), filepath.Base(path), b.Bytes()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Chmod(path, 0o644) // a source file: every developer reads it, and it has no labels
}

const (
	// minSamples is the number of samples at which a function with 1 % of the CPU time
	// has ten. Then it differs from one with a third of that.
	minSamples = 1000
	// maxUnseen is the share of unseen calls above which more samples change what is hot.
	// The profile that the Go compiler is built with has 20 %.
	maxUnseen = 0.25
	// minShare is the number of samples below which a replica must not weigh much more
	// than it measured.
	minShare = 100
)

// warnings returns reasons why the profile may not help. unseen is the share of the
// workload's calls that it has not seen.
func (m *merger) warnings(unseen float64) []string {
	var w []string
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	switch {
	case m.samples < minSamples:
		add("the profile is thin: %d samples are less than the %d at which a function with 1 %% of the CPU time has ten; profile for longer, under load, or more replicas", m.samples, minSamples)
	case unseen > maxUnseen:
		add("the profile is thin: about %.0f %% of the time is in calls that it has not seen, estimated by the calls that it has seen once, and the compiler takes them for cold; profile for longer, or more replicas", unseen*100)
	}
	ofSpan := ""
	if m.span != "" {
		ofSpan = fmt.Sprintf(" of a span named %q", m.span)
	}
	for _, r := range m.replicas {
		switch {
		case r.cpu == 0:
			add("%s has no samples%s", r.name, ofSpan)
		case r.weight > 2 && r.samples < minShare:
			add("%s has %d samples, and each counts %.0f times for the balance: profile it for longer", r.name, r.samples, r.weight)
		}
	}
	switch {
	case len(m.programs) > 1:
		add("the profiles are of different programs, and hot calls of one are cold in the other: %s", list(m.programs))
	case len(m.builds) > 1:
		add("the profiles are of %d builds; calls that moved to other lines are counted apart", len(m.builds))
	}
	return w
}

// maxPrograms bounds the programs and builds that are distinguished.
const maxPrograms = 100

// see adds the program of a profile: its first mapping.
func (m *merger) see(p *profile.Profile) {
	if len(p.Mapping) == 0 {
		return
	}
	add := func(list *[]string, name string) {
		if name != "" && len(*list) < maxPrograms && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	file := strings.ReplaceAll(p.Mapping[0].File, `\`, "/")
	add(&m.programs, file[strings.LastIndexByte(file, '/')+1:])
	add(&m.builds, p.Mapping[0].BuildID) // Go's profiler has it on Linux
}
