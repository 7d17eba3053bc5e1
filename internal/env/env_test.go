// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package env_test

import (
	"testing"

	"github.com/spanprof/spanprof/internal/env"
)

func TestOff(t *testing.T) {
	for _, test := range []struct {
		otel, spanprof, enable string
		optIn, want            bool
	}{
		{"", "", "", false, false},
		{"true", "", "", false, true},
		{"", "TRUE", "", false, true},
		{"True", "false", "", false, true},
		{"false", "false", "false", false, false},
		{"1", "yes", "", false, false},
		{"", "", "", true, true},
		{"", "", "1", true, true},
		{"", "", "True", true, false},
		{"true", "", "true", true, true},
		{"", "true", "true", false, true},
	} {
		t.Setenv("OTEL_SDK_DISABLED", test.otel)
		t.Setenv("SPANPROF_DISABLED", test.spanprof)
		t.Setenv(env.Enable, test.enable)
		if got := env.Off(test.optIn); got != test.want {
			t.Errorf("%+v: Off() = %t", test, got)
		}
	}
}
