// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/pgocheck"
	"github.com/spanprof/spanprof/internal/termtext"
)

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
