// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/fileview"
	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/viewer"
)

// buffered is a source that was read into memory: for pgo, which reads addresses all at once,
// and for the page of a diff.
type buffered struct {
	name     string
	reading  sync.WaitGroup
	profiles []*source.Profile
	skipped  []error
	err      error
}

func (r *buffered) String() string { return r.name }

func (r *buffered) Read(_ context.Context, _ source.Want, skip func(error), each func(*source.Profile) error) error {
	r.reading.Wait()
	for _, err := range r.skipped {
		skip(err)
	}
	for i, p := range r.profiles {
		r.profiles[i] = nil // it is read once
		if err := each(p); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return r.err
}

// maxPage bounds the memory of a page's profiles, here and in spanprof view.
const maxPage = 384 << 20

// serve shows the two sides on a page until ctx ends.
func (d *diff) serve(ctx context.Context, c *call, listener net.Listener, sides [2]*buffered) error {
	sets := []fileview.Set{{Name: "before", Sources: []source.Source{sides[0]}}, {Name: "after", Sources: []source.Source{sides[1]}}}
	page, err := fileview.Load(ctx, sets, maxPage, func(err error) {
		_, _ = fmt.Fprintln(c.stderr, "spanprof: diff: not on the page:", err)
	})
	var path string
	if err == nil {
		path, err = page.Path(ctx)
	}
	if err != nil {
		return fmt.Errorf("diff: -http: %w", err)
	}
	for _, note := range page.Notes() {
		_, _ = fmt.Fprintln(c.stderr, "spanprof: diff:", note)
	}
	out := c.stdout
	if d.json {
		out = c.stderr
	}
	_, _ = fmt.Fprintf(out, "Open http://%s%s\n", listener.Addr(), path)
	return viewer.Serve(ctx, listener, page.Handler())
}
