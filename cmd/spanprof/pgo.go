// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/pgo"
)

var pgoCommand = command{
	name: "pgo",
	synopsis: `[-o default.pgo] [FLAG]... SOURCE...
       spanprof pgo -check PACKAGE [-profile default.pgo] [FLAG]... [SOURCE]...`,
	summary: "makes default.pgo for go build out of CPU profiles, or tells whether it still fits",
	run:     runPGO,
}

func runPGO(ctx context.Context, c *call) error {
	var s pgoSources
	out := c.String("o", "default.pgo", "the `file` to write")
	force := c.Bool("f", false, "replace the file if it exists")
	check := c.String("check", "", "list the hot functions that this `package` has not any more: it is built, as go build does; or that of an executable")
	profile := c.String("profile", "", "the `file` for -check (default default.pgo in the package's directory)")
	leaf := c.Int("leaf", 0, "keep this `number` of frames of each stack, the innermost, for a smaller file: 5, say; 0 keeps all")
	balance := c.Bool("balance", false, "give each replica the same weight, whatever CPU time it used")
	span := c.String("span", "", "use samples of spans with this `name` alone; a pyroscope SOURCE has span_name in its query instead")
	c.BoolVar(&s.keepGoing, "k", false, "leave out what cannot be used, and go on with the others")
	c.DurationVar(&s.measure, "for", 30*time.Second, "how long to measure a process that keeps no profiles")
	if err := c.parse(); err != nil {
		return err
	}
	given := map[string]bool{}
	c.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if given["leaf"] && *leaf != 0 {
		s.options = append(s.options, pgo.WithLeaf(*leaf))
	}
	if *balance {
		s.options = append(s.options, pgo.WithBalance())
	}
	if given["span"] {
		s.bySpan = true
		s.options = append(s.options, pgo.WithSpan(*span))
	}
	switch {
	case s.measure <= 0 || s.measure > longest:
		return errors.New("pgo: -for must be more than zero, and at most a year")
	case *leaf == 1 || *leaf < 0:
		return errors.New("pgo: -leaf must be at least 2: less is no call; 0 keeps all frames")
	case given["check"] && (given["o"] || given["f"]):
		return errors.New("pgo: -check writes no file: leave -o and -f out")
	case given["check"]:
		return s.check(ctx, c, *check, *profile)
	case given["profile"]:
		return errors.New("pgo: -profile goes with -check")
	case c.NArg() == 0:
		return errors.New("pgo: name a SOURCE: a directory of profiles, or the address of a process")
	}
	exists := fmt.Errorf("pgo: %s exists: -f replaces it", *out)
	if _, err := os.Lstat(*out); err == nil && !*force {
		return exists
	}
	if err := canWrite(*out); err != nil { // before anything is measured
		return fmt.Errorf("pgo: -o: %w", err)
	}
	s.out = *out
	result, err := s.merge(ctx, c)
	if err != nil {
		return err
	}
	write := result.WriteFile
	if *force {
		write = result.ReplaceFile
	}
	switch err := write(*out); {
	case errors.Is(err, fs.ErrExist):
		return exists
	case err != nil:
		return fmt.Errorf("pgo: %w", err)
	}
	fmt.Fprintf(c.stdout, "%s: %s of %s, %v of CPU time, from %s\n", *out, termtext.Plural(result.Samples, "sample"),
		termtext.Plural(result.Functions, "function"), result.CPU.Round(time.Millisecond), termtext.Plural(len(result.Replicas), "replica"))
	return nil
}

// canWrite returns an error where a file cannot be written.
func canWrite(path string) error {
	if path == "" {
		return errors.New("the file has no name")
	}
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return fmt.Errorf("%s is a directory: name the file, such as %s", path, filepath.Join(path, "default.pgo"))
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".spanprof-*.tmp")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
