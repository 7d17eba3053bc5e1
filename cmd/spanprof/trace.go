// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/internal/files"
)

var traceCommand = command{
	name:     "trace",
	synopsis: "[FLAG]... FILE [SPAN]",
	summary:  "shows from an execution trace where the time of spans went, and what ended their waits",
	example: `$ spanprof trace trace.out "GET /cart"
484.23 ms of a trace: 36 local roots, 1 of them below

SPAN GET /cart 3a40884334e1a7ff: 20.28 ms, from 0.11 ms of the trace on
  goroutine 1, 0.00 ms to 20.28 ms: mutex 20.26 ms
   20.26 ms  mutex, 1 time at main.(*shop).cart (cart.go:86)
             ended at main.refresh (cache.go:58) by goroutine 27 of span "refresh cache" 6d5c42f45fc2a011: sleep 20.23 ms in load from disk`,
	run: runTrace,
}

func runTrace(ctx context.Context, c *call) error {
	asJSON := c.Bool("json", false, "write JSON, which has all of it")
	slowest := c.Int("n", 5, "show this `number` of local roots, the slowest; at most 1000")
	if err := c.parse(); err != nil {
		return err
	}
	switch {
	case c.NArg() != 1 && c.NArg() != 2:
		return errors.New("trace: name one FILE, of /debug/pprof/trace or a flight recorder, and perhaps a SPAN: its name or id")
	case *slowest < 1 || *slowest > 1000:
		return errors.New("trace: -n must be from 1 to 1000")
	}
	q := exectrace.Query{Slowest: *slowest}
	if id, err := hex.DecodeString(c.Arg(1)); err == nil && len(id) == 8 {
		q.IDs = []string{strings.ToLower(c.Arg(1))}
	} else if c.NArg() == 2 {
		q.Name = c.Arg(1)
	}
	in, err := files.Open(c.Arg(0), files.Named)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	defer func() { _ = in.Close() }()                         // it was only read
	defer context.AfterFunc(ctx, func() { _ = in.Close() })() // a signal ends the command
	a, err := exectrace.Analyze(in, q)
	if err = cmp.Or(context.Cause(ctx), err); err != nil {
		return fmt.Errorf("trace: %s: %w", c.Arg(0), err)
	}
	if len(a.Spans) == 0 && c.NArg() == 2 {
		return fmt.Errorf("trace: %s: no local root of the %d in it has the id or name %q; without one, the slowest are listed", c.Arg(0), a.Roots, c.Arg(1))
	}
	if *asJSON {
		encoder := json.NewEncoder(c.stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(a)
	}
	return writeTrace(c.stdout, a)
}
