// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spanprof/spanprof/pgo"
)

// Merge what exporter/file has written on two replicas.
func ExampleMerge() {
	files, err := filepath.Glob("/var/lib/shop/*/*-cpu.pprof.gz")
	if err != nil {
		log.Fatal(err)
	}
	var sources []pgo.Source
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			log.Fatal(err)
		}
		sources = append(sources, pgo.Source{Name: name, Replica: filepath.Dir(name), Data: data})
	}
	result, err := pgo.Merge(sources, pgo.WithLeaf(5), pgo.WithBalance())
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range result.Warnings {
		log.Print(w)
	}
	if err := result.ReplaceFile("cmd/shop/default.pgo"); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d samples of %d functions\n", result.Samples, result.Functions)
}

// Look which hot functions of default.pgo the program has not any more.
func ExampleExecutable_Check() {
	pkg, err := pgo.FindPackage(context.Background(), "./cmd/shop")
	if err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(pkg.Dir, "default.pgo"))
	if err != nil {
		log.Fatal(err)
	}
	profile, err := pgo.Parse(data)
	if err != nil {
		log.Fatal(err)
	}
	built, err := pkg.Build(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	check, err := built.Check(profile)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range check.Missing {
		fmt.Printf("%5.1f %% %s: %s %s\n", m.Self*100, m.Name, m.Reason, m.Now)
	}
}

func ExampleMerger() {
	m, err := pgo.NewMerger()
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range []int64{700, 600} {
		if err := m.Add(pgo.Source{Name: "window", Profile: calling("main.serve", "main.hash", n)}); err != nil {
			log.Print(err) // and go on without it
		}
	}
	result, err := m.Result()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d samples of %d functions, %v of CPU time\n", result.Samples, result.Functions, result.CPU)
	// Output: 1300 samples of 3 functions, 13s of CPU time
}
