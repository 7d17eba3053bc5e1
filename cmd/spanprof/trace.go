// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/internal/files"
)

var traceCommand = command{
	name:     "trace",
	synopsis: "[FLAG]... FILE",
	summary:  "shows from an execution trace where the time of spans went, and what ended their waits",
	run:      runTrace,
}

func runTrace(ctx context.Context, c *call) error {
	asJSON := c.Bool("json", false, "write JSON, which has all of it")
	slowest := c.Int("n", 5, "show this `number` of local roots, the slowest; at most 1000")
	id := c.String("id", "", "show the span with this `id`, 16 hex digits, alone; several are separated by commas")
	name := c.String("name", "", "show local roots with this `name` alone")
	if err := c.parse(); err != nil {
		return err
	}
	switch {
	case c.NArg() != 1:
		return errors.New("trace: name one FILE, of /debug/pprof/trace or a flight recorder")
	case *slowest < 1 || *slowest > 1000:
		return errors.New("trace: -n must be from 1 to 1000")
	}
	q := exectrace.Query{Name: *name, Slowest: *slowest}
	if *id != "" {
		q.IDs = strings.Split(strings.ToLower(*id), ",")
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
	if len(a.Spans) == 0 && (*id != "" || *name != "") {
		return fmt.Errorf("trace: %s: no local root of the %d in it has this id or name; without -id and -name the slowest are listed", c.Arg(0), a.Roots)
	}
	if *asJSON {
		encoder := json.NewEncoder(c.stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(a)
	}
	return writeTrace(c.stdout, a)
}
