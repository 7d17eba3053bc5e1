// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/diffview"
	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/compare"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/internal/untrusted"
)

var diffCommand = command{
	name:     "diff",
	synopsis: "[FLAG]... BEFORE AFTER",
	summary:  "shows changes between two versions, beyond noise; each side is a SOURCE or a quoted list",
	run:      runDiff,
}

// diff has the values of the flags of a diff.
type diff struct {
	selection compare.Selection
	per       compare.Per
	requests  [2][]float64 // of each side
	json, all bool
	failOver  float64 // 0.05 is 5 %; negative means that the flag is not given
	http      string
	keepGoing bool
	measure   time.Duration
}

func runDiff(ctx context.Context, c *call) error {
	d := diff{failOver: -1}
	c.StringVar(&d.selection.Span, "span", "", "compare the samples of spans with this `name` alone")
	c.Func("focus", "compare the samples alone that have a function on their stack that matches this `regexp`", func(s string) (err error) {
		d.selection.Focus, err = regexp.Compile(s)
		return err
	})
	c.Func("per", "divide CPU time by this: request, span (only those that have samples), second or share (of the total); the default is request with -requests, else second, else share", d.setPer)
	c.Func("requests", "`BEFORE:AFTER`, the requests that each side has served: one number for every run, or one for each with commas", d.setRequests)
	c.BoolVar(&d.json, "json", false, "write JSON, the fields of compare.Result")
	c.BoolVar(&d.all, "all", false, "show the functions within noise too")
	c.Func("fail-over", "exit with 3 if a function's CPU time per unit of work grew by more than this `percentage`, beyond noise, and with 2 if there are not enough runs to tell", d.setFailOver)
	c.StringVar(&d.http, "http", "", "show both sides on a page on this `address`, afterwards: 127.0.0.1:0, say")
	c.BoolVar(&d.keepGoing, "k", false, "leave out profiles and SOURCEs that cannot be used, and go on with the others")
	c.DurationVar(&d.measure, "for", 30*time.Second, "how long to measure a process that keeps no profiles")
	if err := c.parse(); err != nil {
		return err
	}
	switch {
	case c.NArg() != 2:
		return errors.New("diff: name two sides, BEFORE and AFTER: put a list of SOURCEs in quotes")
	case d.measure <= 0:
		return errors.New("diff: -for must be more than zero")
	case d.failOver >= 0 && d.per == compare.PerShare:
		return errors.New("diff: -fail-over needs CPU time per unit of work: leave -per share out")
	}
	if d.http == "" {
		return d.run(ctx, c, nil)
	}
	listener, err := openListener("diff: -http", d.http, false) // before anything is measured
	if err != nil {
		return err
	}
	defer listener.Close() //nolint:errcheck // the server has closed it, unless there was an error
	return d.run(ctx, c, listener)
}

func (d *diff) setPer(s string) error {
	switch per := compare.Per(s); per {
	case compare.PerRequest, compare.PerSpan, compare.PerSecond, compare.PerShare:
		d.per = per
		return nil
	}
	return errors.New("known are request, span, second and share")
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

// run compares, and shows the page where there is a listener.
func (d *diff) run(ctx context.Context, c *call, listener net.Listener) error {
	untrusted.LimitMemory(512 << 20)
	var (
		sides [2]*compare.Side
		kept  [2]*buffered
	)
	for i, arg := range c.Args() {
		sides[i], kept[i] = compare.NewSide(d.selection), &buffered{name: arg}
		if err := d.read(ctx, c, arg, sides[i], kept[i]); err != nil {
			return fmt.Errorf("diff: %w", err)
		}
		if d.requests[i] == nil {
			continue
		}
		if err := sides[i].SetWork(d.requests[i]...); err != nil {
			return fmt.Errorf("diff: -requests: %s: %w: the runs are %q", arg, err, sides[i].Runs())
		}
	}
	r, err := compare.Compare(sides[0], sides[1], d.per)
	if err != nil {
		return fmt.Errorf("diff: %w", err)
	}
	if err := d.write(c, r); err != nil {
		return err
	}
	verdict := d.verdict(r)
	if listener == nil {
		return verdict
	}
	return errors.Join(d.serve(ctx, c, listener, kept), verdict)
}

// write writes the result.
func (d *diff) write(c *call, r *compare.Result) error {
	if d.json {
		if !d.all {
			r.Functions = diffview.Moved(r.Functions)
		}
		e := json.NewEncoder(c.stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	_, err := fmt.Fprint(c.stdout, diffview.Text(r, d.all))
	return err
}

// maxGrew bounds the names in the message of -fail-over.
const maxGrew = 20

// verdict is the error for -fail-over.
func (d *diff) verdict(r *compare.Result) error {
	switch {
	case d.failOver < 0:
		return nil
	case r.Unit != compare.UnitRun:
		text := fmt.Sprintf("diff: -fail-over cannot tell: it needs three runs a side, and there are %d and %d", r.Before.Runs, r.After.Runs)
		if n := r.Before.LeftOut + r.After.LeftOut; n > 0 {
			text += fmt.Sprintf("; %d have no %s to divide by", n, r.Per)
		}
		return codeError{errors.New(text), exitCannotTell}
	case r.Per == compare.PerShare:
		return codeError{errors.New("diff: -fail-over cannot tell: the profiles have no duration: give the work by -requests"), exitCannotTell}
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
	more := ""
	if n := len(grew) - maxGrew; n > 0 {
		grew, more = grew[:maxGrew], fmt.Sprintf(" and %d more", n)
	}
	return codeError{fmt.Errorf("diff: grew by more than %g%%, beyond noise: %s%s", 100*d.failOver, strings.Join(grew, ", "), more), exitGrew}
}

// read adds the profiles of one side. With -k, what cannot be used is left out: a
// profile, or a whole SOURCE.
func (d *diff) read(ctx context.Context, c *call, arg string, side *compare.Side, kept *buffered) error {
	var skip func(error)
	if d.keepGoing {
		skip = func(err error) { _, _ = fmt.Fprintln(c.stderr, "spanprof: diff: left out:", err) }
	}
	want := source.Want{Kinds: []exporter.Kind{exporter.KindCPU, exporter.KindHeap}, Measure: d.measure}
	n := 0
	seen := source.Seen{}
	for _, arg := range list(arg) {
		src, err := source.Parse(arg)
		if err != nil {
			return err
		}
		err = src.Read(ctx, want, skip, func(p *source.Profile) error {
			if seen.Again(p) {
				_, _ = fmt.Fprintf(c.stderr, "spanprof: diff: left out: %s: %v\n", p.Name, source.ErrSeen)
				n++
				return nil
			}
			if err := side.Add(runOf(src, p), p.Profile); err != nil {
				if skip == nil {
					return err
				}
				skip(fmt.Errorf("%s: %w", p.Name, err))
				return nil
			}
			n++
			if d.http != "" {
				kept.profiles = append(kept.profiles, p)
			}
			return nil
		})
		switch {
		case err == nil:
		case skip == nil || ctx.Err() != nil:
			return err
		default:
			skip(err)
		}
	}
	if n == 0 {
		return fmt.Errorf("%s: there is no profile of CPU or heap that can be used", arg)
	}
	c.progressf("%s: %d profiles of %d runs", arg, n, len(side.Runs()))
	return nil
}

// runOf names the run that a profile is of. If the profile has none, it is the directory
// or the address.
func runOf(src source.Source, p *source.Profile) string {
	switch {
	case p.Replica != "":
		return p.Replica
	case strings.Contains(src.String(), "://"):
		return src.String()
	}
	return src.String() + " " + filepath.Dir(p.Name)
}

// list splits a list of SOURCEs at spaces and commas outside braces and quotes. Quotes
// around a whole SOURCE do not belong to it. A path that exists is one SOURCE whatever its
// name.
func list(arg string) []string {
	if _, err := os.Stat(arg); err == nil {
		return []string{arg}
	}
	quoted, depth := false, 0
	sources := strings.FieldsFunc(arg, func(r rune) bool {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '{':
			depth++
		case r == '}':
			depth--
		}
		return !quoted && depth <= 0 && (r == ' ' || r == ',' || r == '\n' || r == '\t')
	})
	for i, s := range sources {
		if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
			sources[i] = s[1 : len(s)-1]
		}
	}
	return sources
}
