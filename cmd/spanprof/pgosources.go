// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
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
	"github.com/spanprof/spanprof/internal/untrusted"
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

// merge merges the profiles of the arguments. It prints warnings about the result.
func (s pgoSources) merge(ctx context.Context, c *call) (*pgo.Result, error) {
	m, err := pgo.NewMerger(s.options...)
	if err != nil {
		return nil, err
	}
	untrusted.LimitMemory(512 << 20)
	s.merged = source.Seen{}
	ctx, cancel := context.WithCancel(ctx)
	var measured sync.WaitGroup
	defer measured.Wait()
	defer cancel()
	var sources []source.Source
	for _, arg := range c.Args() {
		src, err := source.Parse(arg)
		if err != nil {
			return nil, fmt.Errorf("pgo: %w", err)
		}
		sources = append(sources, src)
	}
	for i, arg := range c.Args() {
		if strings.Contains(arg, "://") { // takes a while: all at once
			c.progressf("reading %s", sources[i])
			src, r := sources[i], &buffered{name: sources[i].String()}
			sources[i] = r
			r.reading.Add(1)
			measured.Go(func() {
				defer r.reading.Done()
				r.err = s.read(ctx, src, func(err error) { r.skipped = append(r.skipped, err) }, func(p *source.Profile) error {
					r.profiles = append(r.profiles, p)
					return nil
				})
			})
		}
	}
	for _, src := range sources {
		if err := s.add(ctx, c, m, src); err != nil {
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
func (s pgoSources) add(ctx context.Context, c *call, m *pgo.Merger, src source.Source) error {
	leftOut := func(err error) { fmt.Fprintln(c.stderr, "spanprof: left out:", err) }
	n := 0
	err := s.read(ctx, src, leftOut, func(p *source.Profile) error {
		if p.Name != src.String() && sameFile(p.Name, s.out) {
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
			err = m.Add(pgo.Source{Name: p.Name, Replica: cmp.Or(p.Replica, src.String()), Profile: parsed})
		}
		if err == nil || !s.keepGoing {
			return cause(err)
		}
		leftOut(fmt.Errorf("%s: %w", p.Name, cause(err)))
		return nil
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: it has no CPU profile", src)
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

// read reads the CPU profiles of a source.
func (s pgoSources) read(ctx context.Context, src source.Source, skip func(error), each func(*source.Profile) error) error {
	if !s.keepGoing {
		skip = nil
	}
	return src.Read(ctx, source.Want{Kinds: []exporter.Kind{exporter.KindCPU}, Measure: s.measure}, skip, each)
}
