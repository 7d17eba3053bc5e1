// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// Source is a CPU profile to merge.
type Source struct {
	// Name is the origin of the profile in errors and warnings: a file, for example.
	Name string
	// Replica is the run of a process that the profile was taken of. Profiles with
	// the same Replica are of one run; WithBalance weighs them as one. The default
	// is Name.
	Replica string
	// Data is the profile in pprof's format, gzipped or not. It is not read if
	// Profile is set.
	Data []byte
	// Profile is the parsed profile. It is not changed.
	Profile *profile.Profile
}

// Merge merges CPU profiles into one for the compiler. It returns a [*SourceError]
// for the first source that cannot be used; a [Merger] can go on without it.
//
// Sources may be of different replicas, rates and times: their CPU time in
// nanoseconds is added. An empty profile is fine beside others of its replica, as
// an idle minute is; a replica without any sample is an error, but with WithSpan.
func Merge(sources []Source, opts ...Option) (*Result, error) {
	m, err := NewMerger(opts...)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		if err := m.Add(s); err != nil {
			return nil, err
		}
	}
	for _, r := range m.replicas {
		if r.cpu == 0 && !m.config.bySpan {
			return nil, &SourceError{Source: r.Name, Err: ErrEmpty}
		}
	}
	return m.Result()
}

// Merger merges profiles one by one, and holds no more of them than their stacks.
// It is not safe for concurrent use.
type Merger struct {
	config   config
	replicas []*replica
	cpu      int64
	samples  int64
	spans    map[string]int64
	nameless int64
	binaries []Binary
	pending  int // see maxPending
}

// replica gathers the profiles of one run of a process.
type replica struct {
	Replica
	cpu     int64
	pending []*profile.Profile
}

// maxPending bounds the profiles of all replicas that are not merged yet.
const maxPending = 8

// NewMerger returns a Merger without profiles. It returns an error if an option
// makes no sense.
func NewMerger(opts ...Option) (*Merger, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	return &Merger{config: c, spans: map[string]int64{}}, nil
}

// Add adds a profile. It returns a [*SourceError] if that cannot be used, and takes
// nothing of it then. A CPU profile without samples is an error of Result, not of Add.
func (m *Merger) Add(source Source) error {
	if err := m.add(source); err != nil {
		return &SourceError{Source: source.Name, Err: err}
	}
	return nil
}

func (m *Merger) add(source Source) error {
	p := source.Profile
	if p == nil {
		var err error
		if p, err = Parse(source.Data); err != nil {
			return err
		}
	}
	s, err := strip(p, m.config)
	if err != nil {
		return err
	}
	if s.cpu > maxCPU-m.cpu || s.samples > maxCPU-m.samples {
		return fmt.Errorf("%w: more than 73 years of CPU time in all", ErrDamaged)
	}
	r := m.replica(source)
	r.Profiles++
	r.Samples += s.samples
	r.cpu += s.cpu
	m.cpu += s.cpu
	m.samples += s.samples
	m.nameless += s.nameless
	for name, n := range s.spans {
		m.spans[name] += n
	}
	m.seen(s.binaries)
	if s.cpu == 0 {
		return nil
	}
	if !m.config.balance {
		r = m.replicas[0] // one profile of all replicas takes less memory
	}
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

func (m *Merger) replica(source Source) *replica {
	name := source.Replica
	if name == "" {
		name = source.Name
	}
	for _, r := range m.replicas {
		if r.Name == name {
			return r
		}
	}
	r := &replica{Replica: Replica{Name: name}}
	m.replicas = append(m.replicas, r)
	return r
}

func (m *Merger) seen(binaries []Binary) {
	for _, b := range binaries {
		i := slices.IndexFunc(m.binaries, func(other Binary) bool { return other.identity() == b.identity() })
		switch {
		case i >= 0:
			m.binaries[i].Samples += b.Samples
		case len(m.binaries) < maxBinaries:
			m.binaries = append(m.binaries, b)
		}
	}
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

// Result merges what was added. It returns an error that wraps [ErrEmpty] if there
// are no samples. The Merger cannot be used afterwards.
func (m *Merger) Result() (*Result, error) {
	if m.cpu == 0 {
		return nil, m.empty()
	}
	var share int64 // of each replica, where they are balanced
	if m.config.balance {
		share = m.cpu / int64(m.used())
	}
	var all []*profile.Profile
	result := &Result{CPU: time.Duration(m.cpu), Binaries: m.binaries}
	for _, r := range m.replicas {
		result.Samples += r.Samples
		r.Weight = 1
		if len(r.pending) > 0 {
			if err := r.merge(); err != nil {
				return nil, fmt.Errorf("pgo: %s: %w", r.Name, err)
			}
			if m.config.balance {
				r.Weight = float64(share) / float64(r.cpu)
				scale(r.pending[0], r.Weight)
			}
			all = append(all, r.pending[0])
		}
		result.Replicas = append(result.Replicas, r.Replica)
	}
	merged, err := profile.Merge(all)
	if err != nil {
		return nil, fmt.Errorf("pgo: %w", err)
	}
	merged.Comments = m.comments()
	result.Profile = merged
	result.Unseen = unseen(merged)
	result.Functions = len(merged.Function)
	result.Warnings = m.warnings(result)
	return result, nil
}

// used returns the number of replicas with samples.
func (m *Merger) used() int {
	n := 0
	for _, r := range m.replicas {
		if r.cpu > 0 {
			n++
		}
	}
	return n
}

// scale multiplies the CPU time of p's samples. What has run stays above zero.
func scale(p *profile.Profile, factor float64) {
	for _, s := range p.Sample {
		s.Value[cpuValue] = max(1, int64(float64(s.Value[cpuValue])*factor+0.5))
	}
}

// maxListed bounds the names in a message.
const maxListed = 10

func (m *Merger) empty() error {
	switch {
	case len(m.replicas) == 0:
		return errors.New("pgo: there is no profile to merge")
	case !m.config.bySpan:
		names := make([]string, len(m.replicas))
		for i, r := range m.replicas {
			names[i] = r.Name
		}
		return fmt.Errorf("pgo: %s: %w", list(names), ErrEmpty)
	case len(m.spans) == 0:
		return fmt.Errorf("pgo: %w of a span named %q: no sample has the label span_name, which spanprof gives in the service that is profiled", ErrEmpty, m.config.span)
	}
	names := slices.SortedFunc(maps.Keys(m.spans), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.spans[b], m.spans[a]), strings.Compare(a, b))
	})
	for i := range names {
		names[i] = fmt.Sprintf("%q", names[i])
	}
	return fmt.Errorf("pgo: %w of a span named %q; there are %s", ErrEmpty, m.config.span, list(names))
}

// list joins the first names.
func list(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// comments returns the origin of default.pgo.
func (m *Merger) comments() []string {
	comments := []string{"made by spanprof pgo for go build -pgo"}
	if m.config.bySpan {
		comments = append(comments, fmt.Sprintf("samples of spans named %q", m.config.span))
	}
	for _, b := range m.binaries {
		comments = append(comments, fmt.Sprintf("from %s: %d samples", b, b.Samples))
	}
	return comments
}
