// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/pgo"
)

// maxWarning bounds a warning, which has names that profiles give to themselves.
const maxWarning = 2000

// pgoSources is how the sources of spanprof pgo are read.
type pgoSources struct {
	options   []pgo.Option
	bySpan    bool
	keepGoing bool
	measure   time.Duration
	// out is the file to write, which a directory or a glob may have too.
	out string
	// merged are the files that were read, which two SOURCEs may have.
	merged source.Seen
}

// merge merges the profiles of the arguments, and says what may be wrong with the
// result.
func (s pgoSources) merge(ctx context.Context, c *call) (*pgo.Result, error) {
	m, err := pgo.NewMerger(s.options...)
	if err != nil {
		return nil, err
	}
	s.merged = source.Seen{}
	ctx, cancel := context.WithCancel(ctx)
	var measured sync.WaitGroup
	defer measured.Wait()
	defer cancel()
	var readings []*reading
	for _, arg := range c.Args() {
		src, err := source.Parse(arg)
		if err != nil {
			return nil, fmt.Errorf("pgo: %w", err)
		}
		readings = append(readings, &reading{Source: src, want: source.Want{Kinds: []exporter.Kind{exporter.KindCPU}, Measure: s.measure}, keepGoing: s.keepGoing})
	}
	for i, arg := range c.Args() {
		if strings.Contains(arg, "://") { // takes a while: all at once
			c.progressf("reading %s", readings[i])
			readings[i].ahead = make(chan struct{})
			measured.Go(func() { readings[i].readAhead(ctx) })
		}
	}
	for _, r := range readings {
		if err := s.add(ctx, c, m, r); err != nil {
			return nil, fmt.Errorf("pgo: %w", err)
		}
	}
	result, err := m.Result()
	if err != nil {
		return nil, err
	}
	for _, r := range result.Replicas {
		if r.Samples == 0 && !s.bySpan && !s.keepGoing {
			return nil, fmt.Errorf("pgo: %s: %w", r.Name, pgo.ErrEmpty)
		}
	}
	for _, w := range result.Warnings {
		fmt.Fprintln(c.stderr, "spanprof: warning:", termtext.OneLine(termtext.Clip(w, maxWarning)))
	}
	return result, nil
}

// add merges the profiles of one source.
func (s pgoSources) add(ctx context.Context, c *call, m *pgo.Merger, r *reading) error {
	leftOut := func(err error) { fmt.Fprintln(c.stderr, "spanprof: left out:", err) }
	n := 0
	err := r.read(ctx, leftOut, func(p *source.Profile) error {
		if p.Name != r.String() && sameFile(p.Name, s.out) {
			leftOut(fmt.Errorf("%s: it is the file to write; name it as a SOURCE of its own to have it merged", p.Name))
			return nil
		}
		n++
		if s.merged.Again(p) {
			leftOut(fmt.Errorf("%s: %w", p.Name, source.ErrSeen))
			return nil
		}
		c.progressf("%s", p.Name)
		parsed, err := p.Parsed()
		if err == nil {
			replica := p.Replica
			if replica == "" {
				replica = r.String()
			}
			err = m.Add(pgo.Source{Name: p.Name, Replica: replica, Profile: parsed})
		}
		if err == nil || !s.keepGoing {
			return cause(err)
		}
		leftOut(fmt.Errorf("%s: %w", p.Name, cause(err)))
		return nil
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: it has no CPU profile", r)
	}
	if err != nil && s.keepGoing && ctx.Err() == nil {
		leftOut(err)
		return nil
	}
	return err
}

// sameFile reports whether a and b are names of one file.
func sameFile(a, b string) bool {
	if b == "" {
		return false
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// cause takes the source's name off an error that gets it again.
func cause(err error) error {
	if e, ok := errors.AsType[*pgo.SourceError](err); ok {
		return e.Err
	}
	return err
}

// reading is a source that is read, ahead of its turn where that takes a while.
type reading struct {
	source.Source
	want      source.Want
	keepGoing bool

	// What was read ahead; ahead is closed after the last of it. It is nil where
	// the source is read in its turn.
	ahead    chan struct{}
	profiles []*source.Profile
	skipped  []error
	err      error
}

func (r *reading) readAhead(ctx context.Context) {
	defer close(r.ahead)
	r.err = r.readNow(ctx, func(err error) { r.skipped = append(r.skipped, err) }, func(p *source.Profile) error {
		r.profiles = append(r.profiles, p)
		return nil
	})
}

func (r *reading) readNow(ctx context.Context, skip func(error), each func(*source.Profile) error) error {
	if !r.keepGoing {
		skip = nil
	}
	return r.Read(ctx, r.want, skip, each)
}

// read is Read, whether the source was read ahead or not.
func (r *reading) read(ctx context.Context, skip func(error), each func(*source.Profile) error) error {
	if r.ahead == nil {
		return r.readNow(ctx, skip, each)
	}
	<-r.ahead
	for _, err := range r.skipped {
		skip(err)
	}
	for _, p := range r.profiles {
		if err := each(p); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return r.err
}
