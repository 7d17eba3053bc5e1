// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package env_test

import (
	"testing"

	"github.com/spanprof/spanprof/internal/env"
)

func TestDisabled(t *testing.T) {
	for _, test := range []struct {
		otel, spanprof string
		want           bool
	}{
		{"", "", false},
		{"true", "", true},
		{"", "TRUE", true},
		{"True", "false", true},
		{"false", "false", false},
		{"1", "yes", false},
	} {
		t.Setenv("OTEL_SDK_DISABLED", test.otel)
		t.Setenv("SPANPROF_DISABLED", test.spanprof)
		if got := env.Disabled(); got != test.want {
			t.Errorf("OTEL_SDK_DISABLED=%q SPANPROF_DISABLED=%q: Disabled() = %t, want %t",
				test.otel, test.spanprof, got, test.want)
		}
	}
}
