// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Conformtable prints, as a Markdown table, what spanprof and
// grafana/otel-profiling-go do about each row of the conformance table. With -v
// it prints the failures.
//
//	go run ./internal/integration/conformtable
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	grafana "github.com/grafana/otel-profiling-go"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/conformtest"
)

// column is a wrapper of the table, by scope.
type column struct {
	name string
	wrap func(tp trace.TracerProvider, all bool) trace.TracerProvider
}

var columns = []column{
	{"spanprof", func(tp trace.TracerProvider, all bool) trace.TracerProvider {
		return spanprof.NewTracerProvider(tp, spanprof.WithRootSpanOnly(!all))
	}},
	{"otel-profiling-go v0.7.0", func(tp trace.TracerProvider, all bool) trace.TracerProvider {
		scope := grafana.ScopeRootSpan
		if all {
			scope = grafana.ScopeAllSpans
		}
		return grafana.NewTracerProvider(tp, grafana.WithSpanIDLabelScope(scope), grafana.WithSpanNameLabelScope(scope))
	}},
}

func main() {
	verbose := flag.Bool("v", false, "print the failures")
	flag.Parse()
	names, rule, right := "", "", make([]int, len(columns))
	for _, c := range columns {
		names, rule = names+" "+c.name+" |", rule+"---|"
	}
	fmt.Printf("| |%s\n|---|%s\n", names, rule)
	for _, row := range conformtest.Rows {
		cells := make([]string, len(columns))
		for i, c := range columns {
			var wrong []string
			for _, all := range []bool{false, true} {
				w := conformtest.Wrapper{AllSpans: all, Wrap: func(tp trace.TracerProvider) trace.TracerProvider { return c.wrap(tp, all) }}
				err := w.Run(row)
				if err == nil {
					continue
				}
				wrong = append(wrong, map[bool]string{false: "root scope", true: "all spans"}[all])
				if *verbose {
					fmt.Fprintf(os.Stderr, "%s, %s, all spans %t:\n\t%s\n", row.Name, c.name, all, strings.ReplaceAll(err.Error(), "\n", "\n\t"))
				}
			}
			if len(wrong) == 0 {
				right[i]++
			}
			cells[i] = cell(wrong)
		}
		fmt.Printf("| %s | %s |\n", row.Name, strings.Join(cells, " | "))
	}
	fmt.Printf("\nRows that hold, of %d:", len(conformtest.Rows))
	for i, c := range columns {
		fmt.Printf(" %s %d;", c.name, right[i])
	}
	fmt.Println()
	if right[0] < len(conformtest.Rows) {
		os.Exit(1)
	}
}

// cell returns the scopes in which a row fails.
func cell(scopes []string) string {
	switch len(scopes) {
	case 0:
		return "yes"
	case 1:
		return "not in " + scopes[0]
	default:
		return "no"
	}
}
