// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Conformtable prints, as a Markdown table, what spanprof and
// grafana/otel-profiling-go do about each row of the conformance table. With -v
// it says what is wrong.
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
	"github.com/spanprof/spanprof/internal/conformance"
)

// wrappers returns spanprof and the other wrapper in one scope.
func wrappers(all bool) (ours, theirs conformance.Wrapper) {
	scope := grafana.ScopeRootSpan
	if all {
		scope = grafana.ScopeAllSpans
	}
	ours = conformance.Wrapper{AllSpans: all, Wrap: func(tp trace.TracerProvider) trace.TracerProvider {
		return spanprof.NewTracerProvider(tp, spanprof.WithRootSpanOnly(!all))
	}}
	theirs = conformance.Wrapper{AllSpans: all, Wrap: func(tp trace.TracerProvider) trace.TracerProvider {
		return grafana.NewTracerProvider(tp, grafana.WithSpanIDLabelScope(scope), grafana.WithSpanNameLabelScope(scope))
	}}
	return ours, theirs
}

func main() {
	verbose := flag.Bool("v", false, "say what is wrong")
	flag.Parse()
	fmt.Println("| | spanprof | otel-profiling-go v0.7.0 |")
	fmt.Println("|---|---|---|")
	wrong := false
	for _, row := range conformance.Rows {
		var cells [2][]string
		for _, all := range []bool{false, true} {
			ours, theirs := wrappers(all)
			for i, w := range []conformance.Wrapper{ours, theirs} {
				err := w.Run(row)
				if err == nil {
					continue
				}
				wrong = wrong || i == 0
				cells[i] = append(cells[i], map[bool]string{false: "root scope", true: "all spans"}[all])
				if *verbose {
					fmt.Fprintf(os.Stderr, "%s, %s, all spans %t:\n\t%s\n", row.Name, []string{"spanprof", "otel-profiling-go"}[i], all, strings.ReplaceAll(err.Error(), "\n", "\n\t"))
				}
			}
		}
		fmt.Printf("| %s | %s | %s |\n", row.Name, cell(cells[0]), cell(cells[1]))
	}
	if wrong {
		os.Exit(1)
	}
}

// cell says in which scopes a row does not hold.
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
