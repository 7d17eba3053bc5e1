// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"

	grafana "github.com/grafana/otel-profiling-go"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/conformtest"
)

// wrappers wrap a provider in a scope.
var wrappers = []func(tp trace.TracerProvider, all bool) trace.TracerProvider{
	func(tp trace.TracerProvider, all bool) trace.TracerProvider {
		return spanprof.NewTracerProvider(tp, spanprof.WithRootSpanOnly(!all))
	},
	func(tp trace.TracerProvider, all bool) trace.TracerProvider {
		scope := grafana.ScopeRootSpan
		if all {
			scope = grafana.ScopeAllSpans
		}
		return grafana.NewTracerProvider(tp, grafana.WithSpanIDLabelScope(scope), grafana.WithSpanNameLabelScope(scope))
	},
}

// README.md has the number of rows that each wrapper holds, in both scopes.
func TestConformance(t *testing.T) {
	held := make([]int, len(wrappers))
	table := "\nspanprof | otel-profiling-go | row\n"
	for _, row := range conformtest.Rows {
		for i, wrap := range wrappers {
			cell := "yes"
			for _, all := range []bool{false, true} {
				w := conformtest.Wrapper{AllSpans: all, Wrap: func(tp trace.TracerProvider) trace.TracerProvider { return wrap(tp, all) }}
				if w.Run(row) != nil {
					cell = "no"
				}
			}
			if cell == "yes" {
				held[i]++
			}
			table += cell + " | "
		}
		table += row.Name + "\n"
	}
	t.Log(table)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(", of %d | %d | %d |\n", len(conformtest.Rows), held[0], held[1]); !strings.Contains(string(readme), want) {
		t.Errorf("README.md has no row that ends with %q", want)
	}
}
