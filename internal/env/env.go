// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package env reads the environment variables that the rooms share.
package env

import (
	"os"
	"strings"
)

// Disabled reports whether OTEL_SDK_DISABLED or SPANPROF_DISABLED asks for
// everything to be a pass-through. As OpenTelemetry's specification says for
// booleans, only "true" in any case means true; any other value means false.
func Disabled() bool { return DisabledBy() != "" }

// DisabledBy returns the variable by which Disabled is true, "" where it is false.
func DisabledBy() string {
	for _, name := range []string{"OTEL_SDK_DISABLED", "SPANPROF_DISABLED"} {
		if strings.EqualFold(os.Getenv(name), "true") {
			return name
		}
	}
	return ""
}
