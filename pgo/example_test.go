// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spanprof/spanprof/pgo"
)

// Merge the files that exporter/file wrote for two replicas.
func ExampleMerge() {
	files, err := filepath.Glob("/var/lib/shop/*/*-cpu.pprof.gz")
	if err != nil {
		log.Fatal(err)
	}
	sources := func(yield func(pgo.Source) bool) {
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				log.Fatal(err)
			}
			if !yield(pgo.Source{Name: name, Replica: filepath.Dir(name), Data: data}) {
				return
			}
		}
	}
	result, err := pgo.Merge(sources, pgo.WithLeaf(5))
	if err != nil {
		log.Fatal(err)
	}
	for _, err := range result.LeftOut {
		log.Print("left out: ", err)
	}
	for _, w := range result.Warnings {
		log.Print(w)
	}
	if err := result.WriteFile("cmd/shop/default.pgo"); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d samples of %d functions\n", result.Samples, result.Functions)
}
