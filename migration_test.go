// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"bufio"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	// Programs import Pyroscope's integration with this alias.
	otelpyroscope "github.com/spanprof/spanprof"
)

// TestMigration compiles the API that programs use of any version of Pyroscope's
// integration. No part of it may be missing.
func TestMigration(t *testing.T) {
	ours := map[string]any{
		// A program that takes the result as an interface compiles with ours.
		"NewTracerProvider": func(tp trace.TracerProvider, options ...otelpyroscope.Option) trace.TracerProvider {
			return otelpyroscope.NewTracerProvider(tp, options...)
		},
		"WithRootSpanOnly":             otelpyroscope.WithRootSpanOnly,
		"WithProfileURLBuilder":        otelpyroscope.WithProfileURLBuilder,
		"WithDefaultProfileURLBuilder": otelpyroscope.WithDefaultProfileURLBuilder,
		"DefaultProfileURLBuilder":     otelpyroscope.DefaultProfileURLBuilder,
		"WithAppName":                  otelpyroscope.WithAppName,
		"WithAddSpanName":              otelpyroscope.WithAddSpanName,
		"WithPyroscopeURL":             otelpyroscope.WithPyroscopeURL,
		"WithProfileURL":               otelpyroscope.WithProfileURL,
		"WithProfileBaselineURL":       otelpyroscope.WithProfileBaselineURL,
		"WithProfileBaselineLabels":    otelpyroscope.WithProfileBaselineLabels,
		"WithSpanNameLabelScope":       otelpyroscope.WithSpanNameLabelScope,
		"WithSpanIDLabelScope":         otelpyroscope.WithSpanIDLabelScope,
		"ScopeNone":                    otelpyroscope.ScopeNone,
		"ScopeRootSpan":                otelpyroscope.ScopeRootSpan,
		"ScopeAllSpans":                otelpyroscope.ScopeAllSpans,
	}

	list, err := os.Open("testdata/otelpyroscope.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close() //nolint:errcheck // it was read
	listed := 0
	for lines := bufio.NewScanner(list); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.SplitN(lines.Text(), " ", 4)
		if len(fields) != 4 {
			t.Fatalf("line %q", lines.Text())
		}
		listed++
		since, until, name, want := fields[0], fields[1], fields[2], fields[3]
		value, ok := ours[name]
		if !ok {
			t.Errorf("%s, of %s to %s, is missing", name, since, until)
			continue
		}
		if got := strings.ReplaceAll(reflect.TypeOf(value).String(), "spanprof.", ""); got != want {
			t.Errorf("%s is a %s, in %s to %s a %s", name, got, since, until, want)
		}
	}
	if listed != len(ours) {
		t.Errorf("%d names are listed, %d compared", listed, len(ours))
	}
}
