// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/pgocheck"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/internal/untrusted"
	"github.com/spanprof/spanprof/pgo"
)

var pgoCommand = command{
	name: "pgo",
	synopsis: `[-o default.pgo] [FLAG]... SOURCE...
       spanprof pgo -check PROGRAM [PROFILE]`,
	summary: "merges CPU profiles into default.pgo for go build, or checks that it still fits",
	example: `$ spanprof pgo -o cmd/shop/default.pgo recordings
cmd/shop/default.pgo: 48210 samples of 1832 functions, 8m2.1s of CPU time, from 3 replicas
$ spanprof pgo -check ./shop cmd/shop/default.pgo
./shop has all 212 hot functions of cmd/shop/default.pgo.`,
	run: runPGO,
}

func runPGO(ctx context.Context, c *call) error {
	out := c.String("o", "default.pgo", "the `file` to write; a profile there is replaced")
	check := c.Bool("check", false, "list the hot functions of PROFILE, default.pgo by default, that the executable PROGRAM lacks")
	leaf := c.Int("leaf", 0, "keep this `number` of frames of each stack, the innermost, for a smaller file; 0 keeps all")
	span := c.String("span", "", "use only samples of spans with this `name`; a pyroscope SOURCE has span_name in its query instead")
	if err := c.parse(); err != nil {
		return err
	}
	switch {
	case *check:
		return runCheck(c)
	case c.NArg() == 0:
		return errors.New("pgo: name a SOURCE: a directory of profiles")
	}
	if err := canWrite(*out); err != nil {
		return fmt.Errorf("pgo: -o: %w", err)
	}
	result, err := mergePGO(ctx, c, *out, pgo.WithLeaf(*leaf), pgo.WithSpan(*span))
	if err != nil {
		return err
	}
	if err := result.WriteFile(*out); err != nil {
		return fmt.Errorf("pgo: %w", err)
	}
	fmt.Fprintf(c.stdout, "%s: %s of %s, %v of CPU time, from %s\n", *out, termtext.Plural(result.Samples, "sample"),
		termtext.Plural(len(result.Profile.Function), "function"), result.CPU.Round(time.Millisecond), termtext.Plural(result.Replicas, "replica"))
	return nil
}

// maxWarning bounds a warning, which quotes names from profiles.
const maxWarning = 2000

// mergePGO merges the CPU profiles of SOURCEs, and prints warnings. out is the file to write, which
// a directory or a glob may have too.
func mergePGO(ctx context.Context, c *call, out string, options ...pgo.Option) (*pgo.Result, error) {
	untrusted.LimitMemory(512 << 20)
	var readErr error
	result, err := pgo.Merge(func(yield func(pgo.Source) bool) {
		readErr = source.ReadAll(ctx, c.Args(), exporter.KindCPU, c.leftOut, func(arg string, p *source.Profile) error {
			if p.Name != arg && sameFile(p.Name, out) {
				return errors.New("it is the file to write; name it as a SOURCE to merge it")
			}
			parsed, err := p.Parsed()
			if err == nil {
				yield(pgo.Source{Name: p.Name, Replica: cmp.Or(p.Replica, arg), Profile: parsed})
			}
			return err
		})
	}, options...)
	if readErr != nil {
		return nil, fmt.Errorf("pgo: %w", readErr)
	}
	if err != nil {
		return nil, err
	}
	for _, err := range result.LeftOut {
		c.leftOut(err)
	}
	for _, w := range result.Warnings {
		fmt.Fprintln(c.stderr, "spanprof: warning:", termtext.OneLine(termtext.Clip(w, maxWarning)))
	}
	return result, nil
}

// sameFile reports whether a and b are names of one file.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// canWrite returns an error if a path is a file that is not a profile. WriteFile returns others.
func canWrite(path string) error {
	f, err := files.Open(path, files.Follow)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	magic := make([]byte, 2)
	if n, _ := io.ReadFull(f, magic); n > 0 && string(magic) != "\x1f\x8b" {
		return fmt.Errorf("%s exists and is no profile in gzip: name another file, or remove it", path)
	}
	return nil
}

// runCheck compares a profile with a program.
func runCheck(c *call) error {
	if c.NArg() != 1 && c.NArg() != 2 {
		return errors.New("pgo: -check PROGRAM [PROFILE]: name an executable, and perhaps a profile")
	}
	program, file := c.Arg(0), cmp.Or(c.Arg(1), "default.pgo")
	built, err := pgocheck.Read(program)
	if err != nil {
		return fmt.Errorf("pgo: -check: %w", err)
	}
	profile, err := source.ReadFile(file, files.Named)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("pgo: %w: make it by spanprof pgo, or name another after PROGRAM", err)
	case err != nil:
		return fmt.Errorf("pgo: %w", err)
	}
	check, err := built.Check(profile)
	if err != nil {
		return fmt.Errorf("pgo: %s: %w", file, err)
	}
	if len(check.Missing) == 0 {
		fmt.Fprintf(c.stdout, "%s has all %d hot functions of %s.\n", program, check.Hot, file)
	} else {
		fmt.Fprintf(c.stdout, "%s lacks %d of the %d hot functions of %s: %.1f %% of the CPU time is in them.\n\n%7s %7s  %s\n",
			program, len(check.Missing), check.Hot, file, check.Self*100, "SELF", "TOTAL", "FUNCTION")
	}
	for _, m := range check.Missing {
		fmt.Fprintf(c.stdout, "%6.2f%% %6.2f%%  %s\n", m.Self*100, m.Total*100, termtext.OneLine(m.Name))
	}
	return nil
}
