// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spanprof/spanprof/exporter"
)

// ErrSeen is the error for a profile that an earlier SOURCE has too.
var ErrSeen = errors.New("another SOURCE has it too, and it counts once")

// ReadAll calls each with the profiles of SOURCEs, in their order, and each file once. skip
// gets the errors of profiles and of each. Addresses are read at the same time, because
// measuring takes a while. It returns an error of an address, or of ctx.
func ReadAll(ctx context.Context, args []string, kinds []exporter.Kind, skip func(error), each func(Source, *Profile) error) error {
	sources := make([]Source, len(args))
	for i, arg := range args {
		var err error
		if sources[i], err = Parse(arg); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var measuring sync.WaitGroup
	defer measuring.Wait()
	defer cancel()
	var mu sync.Mutex // held to report
	report := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		skip(err)
	}
	one := func(src Source, each func(*Profile) error) {
		if err := src.Read(ctx, kinds, report, each); err != nil && ctx.Err() == nil {
			report(err)
		}
	}
	measured := make([]chan *Profile, len(args))
	for i, src := range sources {
		if !strings.Contains(args[i], "://") {
			continue
		}
		// All profiles of a process have room; reading more pauses.
		measured[i] = make(chan *Profile, len(TargetKinds))
		measuring.Go(func() {
			defer close(measured[i])
			one(src, func(p *Profile) error {
				select {
				case measured[i] <- p:
				case <-ctx.Done():
				}
				return ctx.Err()
			})
		})
	}
	seen := map[string]bool{}
	for i, src := range sources {
		use := func(p *Profile) error {
			err := ErrSeen
			if !again(seen, p) {
				err = each(src, p)
			}
			if err != nil && ctx.Err() == nil {
				report(fmt.Errorf("%s: %w", p.Name, err))
			}
			return ctx.Err()
		}
		if measured[i] == nil {
			one(src, use)
			continue
		}
		for p := range measured[i] {
			if err := use(p); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// again reports whether seen has the file of a profile, by kind and absolute path without
// links, and adds it. Two SOURCEs of a command line may have the same file. Its samples must
// count once. What was measured anew is never the same.
func again(seen map[string]bool, p *Profile) bool {
	if strings.Contains(p.Name, "://") {
		return false
	}
	path, err := filepath.Abs(p.Name)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return false
	}
	path = string(p.Kind()) + " " + path // a file may have several kinds
	before := seen[path]
	seen[path] = true
	return before
}
