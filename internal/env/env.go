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
func Disabled() bool {
	return isTrue("OTEL_SDK_DISABLED") || isTrue("SPANPROF_DISABLED")
}

func isTrue(name string) bool {
	return strings.EqualFold(os.Getenv(name), "true")
}
