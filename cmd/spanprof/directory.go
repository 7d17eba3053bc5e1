// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// directoryViewOf shows what processes have left in a directory by store.WithDirectory, with
// their spans. It returns false where the only SOURCE is no such directory.
func directoryViewOf(c *call, maxBytes int64, opts ...viewer.Option) (p page, ok bool, err error) {
	if c.NArg() != 1 {
		return page{}, false, nil
	}
	path := c.Arg(0)
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return page{}, false, nil // fileViewOf reports the error
	}
	start, unread := time.Now(), 0
	s, err := store.OpenDirectory(path, func(err error) {
		unread++
		_, _ = fmt.Fprintln(c.stderr, "spanprof: view:", err)
	}, store.WithMaxBytes(maxBytes))
	if errors.Is(err, store.ErrNoRuns) {
		return page{}, false, nil
	}
	if err != nil {
		return page{}, true, fmt.Errorf("view: %w", err)
	}
	d := s.Stats().Directory
	c.progressf("%s and %s of earlier processes in %s", termtext.Plural(d.Spans, "span"), termtext.Plural(d.Windows, "profile"), time.Since(start).Round(time.Millisecond))
	source := &directorySource{store: s}
	if unread > 0 {
		source.notes = []string{termtext.Plural(unread, "file") + " could not be read: the command has reported why"}
	}
	if d.WindowsLeftOut > 0 {
		note := fmt.Sprintf("no room for %s: raise -max-bytes", termtext.Plural(d.WindowsLeftOut, "profile"))
		c.progressf("%s", note)
		source.notes = append(source.notes, note)
	}
	return page{viewer.Handler(source, opts...), "/"}, true, nil
}

// directorySource is a store that receives nothing more.
type directorySource struct {
	store *store.Store
	notes []string
}

var _ store.Source = (*directorySource)(nil)

// View implements store.Source.
func (s *directorySource) View(ctx context.Context, from, until time.Time) (store.View, error) {
	v, err := s.store.View(ctx, from, until)
	return &directoryView{v, s.notes}, err
}

// directoryView adds the notes.
type directoryView struct {
	store.View
	notes []string
}

// Info implements store.View.
func (v *directoryView) Info() store.Info {
	info := v.View.Info()
	info.Notes = v.notes
	return info
}
