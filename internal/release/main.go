// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Release rewrites the go.mod files of a checkout for a release, and prints the tags to
// set.
//
//	GOWORK=off go -C internal/release run . -version v0.1.0
//
// During development a module of this repository requires the others at v0.0.0
// and replaces them by their directories. Go ignores the replacements of a
// dependency, so a released go.mod has none: it requires the others at the
// released version. All modules have the same version, and one commit
// carries all tags. The program writes go.mod and go.sum, in the order of
// requirement, and prints the remaining commands.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	version := flag.String("version", "", "the version to release, such as v0.1.0")
	dir := flag.String("dir", "../..", "the top of the checkout")
	flag.Parse()
	if err := run(*dir, *version); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(dir, version string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := prepare(dir, version); err != nil {
		return err
	}
	fmt.Printf("Set go.mod and go.sum of %d modules to %s. Now:\n\n", len(modules), version)
	fmt.Printf("\tgit commit -am 'release: %s'\n", version)
	for _, m := range modules {
		fmt.Printf("\tgit tag %s\n", m.tag(version))
	}
	fmt.Printf("\tgit push --tags\n\tgit revert --no-edit HEAD # development goes on with replacements\n")
	return nil
}
