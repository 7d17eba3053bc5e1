// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/pgo"
)

// check compares a profile with the executable of a package, and with the workload that
// the arguments name, if any.
func (s pgoSources) check(ctx context.Context, c *call, target, file string) error {
	dir, name := ".", target
	var built *pgo.Executable
	if info, err := os.Stat(target); err == nil && info.Mode().IsRegular() {
		if built, err = pgo.ReadExecutable(target); err != nil {
			return err
		}
	} else {
		pkg, err := pgo.FindPackage(ctx, target)
		if err != nil {
			return err
		}
		dir, name = pkg.Dir, pkg.ImportPath
		c.progressf("building %s", name)
		if built, err = pkg.Build(ctx); err != nil {
			return err
		}
	}
	if file == "" {
		file = filepath.Join(dir, "default.pgo")
	}
	profile, err := source.ReadFile(file, files.Named)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("pgo: %w: make it by spanprof pgo -o, or name another by -profile", err)
	}
	if err != nil {
		return fmt.Errorf("pgo: %w", err)
	}
	check, err := built.Check(profile)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if c.NArg() == 0 {
		return printCheck(c.stdout, file, name, check)
	}
	workload, err := s.merge(ctx, c)
	if err != nil {
		return err
	}
	coverage, err := pgo.Cover(profile, workload.Profile)
	if err != nil {
		return err
	}
	if err := printCheck(c.stdout, file, name, check); err != nil {
		return err
	}
	return printCoverage(c.stdout, file, workload, coverage)
}

func printCheck(w io.Writer, file, program string, c *pgo.Check) error {
	if len(c.Missing) == 0 {
		_, err := fmt.Fprintf(w, "%s has all %d hot functions of %s.\n", program, c.Hot, file)
		return err
	}
	_, err := fmt.Fprintf(w, "%s lacks %d of the %d hot functions of %s: %.1f %% of the CPU time ran in them, and\n"+
		"%.1f %% of the weight of hot calls goes from or to them, which the compiler does not find.\n\n%7s %7s  %s\n",
		program, len(c.Missing), c.Hot, file, c.Self*100, c.Calls*100, "SELF", "TOTAL", "FUNCTION")
	if err != nil {
		return err
	}
	for _, m := range c.Missing {
		if _, err := fmt.Fprintf(w, "%6.2f%% %6.2f%%  %s: %s\n", m.Self*100, m.Total*100, termtext.OneLine(m.Name), reason(m)); err != nil {
			return err
		}
	}
	return nil
}

// reason describes what has become of a function.
func reason(m pgo.Missing) string {
	now := termtext.OneLine(m.Now)
	switch m.Reason {
	case pgo.Moved:
		return "gone, perhaps to " + now
	case pgo.Instance:
		return now + " is there for other types"
	case pgo.Closure:
		return now + " has no such closure"
	}
	return "gone"
}

func printCoverage(w io.Writer, file string, workload *pgo.Result, c pgo.Coverage) error {
	name := filepath.Base(file)
	_, err := fmt.Fprintf(w, `
The workload's CPU time (%s):
  %5.1f %% is in hot calls of %s
  %5.1f %% would be in hot calls of a profile of its own
  %5.1f %% is in functions that %s calls hot, whichever lines call them
`, termtext.Plural(workload.Samples, "sample"), c.Calls*100, name, c.Own*100, c.Functions*100, name)
	return err
}
