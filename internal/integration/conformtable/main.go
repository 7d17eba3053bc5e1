// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Conformtable prints, as a Markdown table, what spanprof and
// grafana/otel-profiling-go do about each row of the conformance table.
//
//	go run ./internal/integration/conformtable
package main

import (
	"fmt"

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
	names, rule, right := "", "", make([]int, len(columns))
	for _, c := range columns {
		names, rule = names+" "+c.name+" |", rule+"---|"
	}
	fmt.Printf("| |%s\n|---|%s\n", names, rule)
	for _, row := range conformtest.Rows {
		fmt.Printf("| %s |", row.Name)
		for i, c := range columns {
			cell := "yes"
			for _, all := range []bool{false, true} {
				w := conformtest.Wrapper{AllSpans: all, Wrap: func(tp trace.TracerProvider) trace.TracerProvider { return c.wrap(tp, all) }}
				if w.Run(row) != nil {
					cell = "no"
				}
			}
			if cell == "yes" {
				right[i]++
			}
			fmt.Printf(" %s |", cell)
		}
		fmt.Println()
	}
	fmt.Printf("\nRows that hold, of %d:", len(conformtest.Rows))
	for i, c := range columns {
		fmt.Printf(" %s %d;", c.name, right[i])
	}
	fmt.Println()
}
