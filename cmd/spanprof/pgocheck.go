// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/pgocheck"
	"github.com/spanprof/spanprof/internal/termtext"
)

// runCheck compares a profile with a program.
func runCheck(ctx context.Context, c *call) error {
	if c.NArg() != 1 && c.NArg() != 2 {
		return errors.New("pgo: -check PACKAGE [PROFILE]: name the package main, or its executable, and perhaps a profile")
	}
	program, dir := c.Arg(0), "."
	var built *pgocheck.Executable
	info, err := os.Stat(program)
	if err == nil && info.Mode().IsRegular() {
		built, err = pgocheck.Read(program)
	} else {
		built, dir, err = pgocheck.Build(ctx, program)
	}
	if err != nil {
		return fmt.Errorf("pgo: -check: %w", err)
	}
	file := c.Arg(1)
	if file == "" {
		file = filepath.Join(dir, "default.pgo")
	}
	profile, err := source.ReadFile(file, files.Named)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("pgo: %w: make it by spanprof pgo, or name another after PACKAGE", err)
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
		fmt.Fprintf(c.stdout, "%s lacks %d of the %d hot functions of %s: %.1f %% of the CPU time is in them.\n"+
			"The compiler does not find %.1f %% of the weight of hot calls.\n\n%7s %7s  %s\n",
			program, len(check.Missing), check.Hot, file, check.Self*100, check.Calls*100, "SELF", "TOTAL", "FUNCTION")
	}
	for _, m := range check.Missing {
		fmt.Fprintf(c.stdout, "%6.2f%% %6.2f%%  %s\n", m.Self*100, m.Total*100, termtext.OneLine(m.Name))
	}
	return nil
}
