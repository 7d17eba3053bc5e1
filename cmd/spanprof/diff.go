// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/compare"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/internal/untrusted"
)

var diffCommand = command{
	name:     "diff",
	synopsis: "[FLAG]... BEFORE AFTER",
	summary:  "shows changes between two versions, beyond noise; each side is a SOURCE or a quoted list",
	example: `$ spanprof diff v1 v2
CPU time per second, 3 runs with 4502 samples before and 3 runs with 5102 samples after
  change  95 % interval         before     after  q       function
  +13.3%  +13.1% to +13.5%      1.50 s    1.70 s  <.0001  all that is compared
  +39.9%  +30.0% to +50.5%      501 ms    701 ms  0.0004  main.parse

1 function of 2 moved beyond noise; 0 have too few samples for a test.`,
	run: runDiff,
}

// diff has the values of the flags of a diff.
type diff struct {
	requests [2][]float64 // of each side
	json     bool
	failOver float64 // 0.05 is 5 %; negative if the flag is not given
}

func runDiff(ctx context.Context, c *call) error {
	d := diff{failOver: -1}
	span := c.String("span", "", "compare only samples of spans with this `name`")
	c.Func("requests", "`BEFORE:AFTER`, the requests that each side has served, to divide CPU time by: one number for every run, or one for each with commas", d.setRequests)
	c.BoolVar(&d.json, "json", false, "write JSON with all functions, the fields of compare.Result")
	c.Func("fail-over", "exit with 3 if a function's CPU time per unit of work grew by more than this `percentage`, beyond noise, and with 2 if there are not enough runs", d.setFailOver)
	if err := c.parse(); err != nil {
		return err
	}
	if c.NArg() != 2 {
		return errors.New("diff: name two sides, BEFORE and AFTER: put a list of SOURCEs in quotes")
	}
	untrusted.LimitMemory(512 << 20)
	var sides [2]*compare.Side
	for i, arg := range c.Args() {
		sides[i] = compare.NewSide(*span)
		if err := readSide(ctx, c, arg, sides[i]); err != nil {
			return fmt.Errorf("diff: %w", err)
		}
		if d.requests[i] == nil {
			continue
		}
		if err := sides[i].SetWork(d.requests[i]...); err != nil {
			return fmt.Errorf("diff: -requests: %s: %w: the runs are %q", arg, err, sides[i].Runs())
		}
	}
	r, err := compare.Compare(sides[0], sides[1])
	if err != nil {
		return fmt.Errorf("diff: %w", err)
	}
	if d.json {
		e := json.NewEncoder(c.stdout)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		_, err = fmt.Fprint(c.stdout, diffText(r))
	}
	if err != nil {
		return err
	}
	return d.verdict(r)
}

func (d *diff) setRequests(s string) error {
	sides := strings.Split(s, ":")
	if len(sides) != 2 {
		return errors.New("want two sides with a colon between them: 24000:24000")
	}
	for i, side := range sides {
		d.requests[i] = nil
		for number := range strings.SplitSeq(side, ",") {
			n, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return err
			}
			d.requests[i] = append(d.requests[i], n)
		}
	}
	return nil
}

func (d *diff) setFailOver(s string) error {
	percent, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err != nil || !(percent >= 0) || math.IsInf(percent, 1) {
		return errors.New("want a percentage from 0 on: 5%")
	}
	d.failOver = percent / 100
	return nil
}

// maxGrew bounds the names in the message of -fail-over.
const maxGrew = 20

// verdict is the error for -fail-over.
func (d *diff) verdict(r *compare.Result) error {
	switch {
	case d.failOver < 0:
		return nil
	case !r.Repeated:
		return codeError{fmt.Errorf("diff: -fail-over needs three runs a side, and there are %d and %d", r.Before.Runs, r.After.Runs), exitCannotTell}
	}
	var grew []string
	for _, f := range r.Functions {
		for _, change := range []compare.Change{f.Total, f.Self} {
			if change.Moved() && change.Ratio > 1+d.failOver {
				grew = append(grew, termtext.OneLine(termtext.ClipStart(f.Name, termtext.MaxQuoted)))
				break
			}
		}
	}
	if len(grew) == 0 {
		return nil
	}
	names := strings.Join(grew[:min(len(grew), maxGrew)], ", ")
	return codeError{fmt.Errorf("diff: %s grew by more than %g%%, beyond noise: %s", termtext.Plural(len(grew), "function"), 100*d.failOver, names), exitGrew}
}

// readSide adds the profiles of one side. It is an error if there are none.
func readSide(ctx context.Context, c *call, arg string, side *compare.Side) error {
	n := 0
	err := source.ReadAll(ctx, list(arg), exporter.KindCPU, c.leftOut, func(arg string, p *source.Profile) error {
		// The run is the directory if the profile has none.
		err := side.Add(cmp.Or(p.Replica, arg+" "+filepath.Dir(p.Name)), p.Profile)
		if err == nil {
			n++
		}
		return err
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: there is no CPU profile that can be used", arg)
	}
	return err
}

// list splits a list of SOURCEs at spaces. An existing path is one SOURCE.
func list(arg string) []string {
	if _, err := os.Stat(arg); err == nil {
		return []string{arg}
	}
	return strings.Fields(arg)
}
