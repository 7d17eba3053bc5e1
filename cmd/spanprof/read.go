// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
)

// reader reads the SOURCEs of a command. What cannot be used is reported and left out.
type reader struct {
	*call
	kinds []exporter.Kind
	mu    sync.Mutex // held to report
}

func (r *reader) leftOut(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintln(r.stderr, "spanprof: left out:", err)
}

// read calls each with the profiles of SOURCEs, in their order, and each file once. An error
// of each is reported. Addresses are read at the same time, because measuring takes a while.
func (r *reader) read(ctx context.Context, args []string, each func(source.Source, *source.Profile) error) error {
	sources := make([]source.Source, len(args))
	for i, arg := range args {
		var err error
		if sources[i], err = source.Parse(arg); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	measured := make([]chan []*source.Profile, len(args))
	defer func() {
		cancel()
		for _, done := range measured {
			if done != nil {
				<-done // closed
			}
		}
	}()
	for i, src := range sources {
		if !strings.Contains(args[i], "://") {
			continue
		}
		r.progressf("reading %s", src)
		measured[i] = make(chan []*source.Profile, 1)
		go func() {
			defer close(measured[i])
			var all []*source.Profile
			r.one(ctx, src, func(p *source.Profile) error {
				all = append(all, p)
				return nil
			})
			measured[i] <- all
		}()
	}
	seen := source.Seen{}
	for i, src := range sources {
		use := func(p *source.Profile) error {
			if seen.Again(p) {
				r.leftOut(fmt.Errorf("%s: %w", p.Name, source.ErrSeen))
				return nil
			}
			r.progressf("%s", p.Name)
			if err := each(src, p); err != nil {
				r.leftOut(fmt.Errorf("%s: %w", p.Name, err))
			}
			return ctx.Err()
		}
		if measured[i] == nil {
			r.one(ctx, src, use)
			continue
		}
		for _, p := range <-measured[i] {
			if err := use(p); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// one reads one SOURCE.
func (r *reader) one(ctx context.Context, src source.Source, each func(*source.Profile) error) {
	err := src.Read(ctx, r.kinds, r.leftOut, each)
	if err != nil && ctx.Err() == nil {
		r.leftOut(err)
	}
}
