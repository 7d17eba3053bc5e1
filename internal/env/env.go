// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package env reads the environment variables that the rooms share.
package env

import (
	"os"
	"strings"
)

// Enable is the variable that the options WithOptIn wait for.
const Enable = "SPANPROF_ENABLED"

// Off reports whether everything must be a pass-through: OTEL_SDK_DISABLED or
// SPANPROF_DISABLED is true, or with optIn SPANPROF_ENABLED is not.
func Off(optIn bool) bool { return Disabled() || optIn && !isTrue(Enable) }

// Disabled is Off without opt-in.
func Disabled() bool { return DisabledBy() != "" }

// DisabledBy returns the variable by which Disabled is true, "" where it is false.
func DisabledBy() string {
	for _, name := range []string{"OTEL_SDK_DISABLED", "SPANPROF_DISABLED"} {
		if isTrue(name) {
			return name
		}
	}
	return ""
}

// isTrue follows OpenTelemetry's specification for booleans: only "true" in any case means
// true.
func isTrue(name string) bool { return strings.EqualFold(os.Getenv(name), "true") }
