// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/pgocheck"
	"github.com/spanprof/spanprof/internal/untrusted"
)

// Source is a CPU profile to merge.
type Source struct {
	// Name is the origin of the profile in errors and warnings, a file for example.
	Name string
	// Replica is the run of a process that was profiled. Profiles with the same Replica
	// are weighed as one. The default is Name.
	Replica string
	// Profile is the profile, see [Parse]. It is not changed.
	Profile *profile.Profile
}

// minLeaf is the number of frames that make a call.
const minLeaf = 2

// Merge merges CPU profiles into one for the compiler. It holds only the stacks of sources
// it has read. Sources that cannot be used are left out, see [Result.LeftOut].
//
// Sources may be of different replicas, rates and times: their CPU time in nanoseconds is
// added. All replicas have the same weight: the CPU time of their samples is scaled to the
// same sum. The sum of all replicas and the counts of samples are unchanged. The error wraps [ErrEmpty] if the usable sources have no samples. Without usable
// sources, it has their errors.
func Merge(sources iter.Seq[Source], opts ...Option) (*Result, error) {
	m := merger{spans: map[string]int64{}}
	for _, o := range opts {
		m.config = o.apply(m.config)
	}
	if m.leaf != 0 && m.leaf < minLeaf {
		return nil, fmt.Errorf("pgo: the least number of frames is %d: fewer are not a call; 0 keeps all", minLeaf)
	}
	var leftOut []error
	for s := range sources {
		if err := m.add(s); err != nil {
			leftOut = append(leftOut, fmt.Errorf("%s: %w", s.Name, err))
		}
	}
	if len(m.replicas) == 0 {
		if len(leftOut) == 0 {
			return nil, errors.New("pgo: there is no profile to merge")
		}
		return nil, fmt.Errorf("pgo: no profile can be used: %w", errors.Join(leftOut[:min(maxListed, len(leftOut))]...))
	}
	result, err := m.result()
	if err != nil {
		return nil, err
	}
	result.LeftOut = leftOut
	return result, nil
}

// merger merges profiles one by one.
type merger struct {
	config
	replicas     []*replica
	cpu, samples int64
	spans        map[string]int64
	pending      int // see maxPending

	programs, builds []string // names and build ids
}

// replica has the profiles of one run of a process.
type replica struct {
	name         string
	cpu, samples int64
	weight       float64
	pending      []*profile.Profile
}

// maxPending bounds the profiles of all replicas that are not merged yet.
const maxPending = 8

func (m *merger) add(source Source) error {
	p := source.Profile
	s, err := strip(p, m.config)
	if err != nil {
		return err
	}
	if s.cpu > maxCPU-m.cpu || s.samples > maxCPU-m.samples {
		return errTooLong
	}
	r := m.replica(cmp.Or(source.Replica, source.Name))
	r.samples += s.samples
	r.cpu += s.cpu
	m.cpu += s.cpu
	m.samples += s.samples
	for name, n := range s.spans {
		m.spans[name] += n
	}
	if s.cpu == 0 {
		return nil
	}
	m.see(p)
	r.pending = append(r.pending, s.profile)
	if m.pending++; m.pending < maxPending {
		return nil
	}
	m.pending = 0
	for _, r := range m.replicas {
		if err := r.merge(); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) replica(name string) *replica {
	for _, r := range m.replicas {
		if r.name == name {
			return r
		}
	}
	r := &replica{name: name, weight: 1}
	m.replicas = append(m.replicas, r)
	return r
}

// merge makes one profile of the pending ones.
func (r *replica) merge() error {
	if len(r.pending) < 2 {
		return nil
	}
	merged, err := profile.Merge(r.pending)
	if err != nil {
		return fmt.Errorf("merge with the profiles before it: %w", err)
	}
	r.pending = []*profile.Profile{merged}
	return nil
}

// result merges what was added.
func (m *merger) result() (*Result, error) {
	if m.cpu == 0 {
		return nil, m.empty()
	}
	used := int64(0)
	for _, r := range m.replicas {
		if r.cpu > 0 {
			used++
		}
	}
	var all []*profile.Profile
	for _, r := range m.replicas {
		if len(r.pending) == 0 {
			continue
		}
		if err := r.merge(); err != nil {
			return nil, fmt.Errorf("pgo: %s: %w", r.name, err)
		}
		r.weight = float64(m.cpu/used) / float64(r.cpu)
		scale(r.pending[0], r.weight)
		all = append(all, r.pending[0])
	}
	merged, err := profile.Merge(all)
	if err != nil {
		return nil, fmt.Errorf("pgo: %w", err)
	}
	merged.Comments = m.comments()
	result := &Result{Profile: merged, Samples: m.samples, CPU: time.Duration(m.cpu), Replicas: len(m.replicas)}
	result.Warnings = m.warnings(pgocheck.Unseen(merged, countValue))
	return result, nil
}

// scale multiplies the CPU time of samples. It stays above zero.
func scale(p *profile.Profile, factor float64) {
	for _, s := range p.Sample {
		s.Value[cpuValue] = max(1, int64(float64(s.Value[cpuValue])*factor+0.5))
	}
}

// maxListed bounds the names in a message.
const maxListed = 10

func (m *merger) empty() error {
	switch {
	case m.span == "":
		names := make([]string, len(m.replicas))
		for i, r := range m.replicas {
			names[i] = r.name
		}
		return fmt.Errorf("pgo: %s: %w", list(names), ErrEmpty)
	case len(m.spans) == 0:
		return fmt.Errorf("pgo: %w of a span named %q: no sample has the label span_name, which spanprof sets in the profiled service", ErrEmpty, m.span)
	}
	names := slices.SortedFunc(maps.Keys(m.spans), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.spans[b], m.spans[a]), strings.Compare(a, b))
	})
	for i := range names {
		names[i] = fmt.Sprintf("%q", names[i])
	}
	return fmt.Errorf("pgo: %w of a span named %q; there are %s", ErrEmpty, m.span, list(names))
}

// list joins the first names.
func list(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// comments returns the origin of default.pgo.
func (m *merger) comments() []string {
	comments := []string{"made by spanprof pgo for go build -pgo"}
	if m.span != "" {
		comments = append(comments, fmt.Sprintf("samples of spans named %q", m.span))
	}
	if len(m.programs) > 0 {
		comments = append(comments, "from "+list(m.programs))
	}
	return comments
}

var (
	// ErrNotCPU is the error for a profile without CPU time that the compiler can use.
	ErrNotCPU = errors.New("not a CPU profile")
	// ErrEmpty is the error for profiles without samples, or without samples of the span
	// that WithSpan names.
	ErrEmpty = errors.New("no samples")
)

// maxUnpacked bounds a profile without gzip. A CPU profile of a minute has about a
// megabyte.
const maxUnpacked = 128 << 20

// Parse parses a profile in the pprof format, gzipped or not, or a heap profile as text. The
// error wraps [ErrEmpty] if there are no data. The error for the file of another tool
// describes it.
func Parse(data []byte) (*profile.Profile, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: it has no bytes", ErrEmpty)
	}
	p, err := untrusted.File(data, maxUnpacked)
	if err != nil {
		return nil, fmt.Errorf("not a profile in the pprof format: %w", err)
	}
	if len(p.SampleType) == 0 {
		return nil, errors.New("not a profile: it has no columns of values")
	}
	return p, nil
}

type config struct {
	leaf int    // frames to keep; 0 for all
	span string // "" for all samples
}

// Option changes what Merge does.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

// WithLeaf keeps the n innermost frames of each stack, for a smaller file. An inlined
// function belongs to the frame of its caller. The compiler of Go 1.26 reads the two
// innermost frames. With n = 5 the file is still readable in pprof. Merge returns an
// error if n is 1 or negative. By default, and for 0, stacks stay whole.
func WithLeaf(n int) Option {
	return optionFunc(func(c config) config {
		c.leaf = n
		return c
	})
}

// WithSpan keeps the samples with the label span_name of this value. By default, all
// samples are kept, as for "".
func WithSpan(name string) Option {
	return optionFunc(func(c config) config {
		c.span = name
		return c
	})
}
