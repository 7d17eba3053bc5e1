// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance is the table of what a wrapper that labels goroutines by
// span must keep unchanged and get right. The root package runs it against
// itself, and internal/integration against other wrappers too.
package conformance
