// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package report keeps failures of other people's code from doing harm: [Contain]
// turns a panic of a call into an error, and a [Reporter] gives errors to
// otel.Handle without waiting for the program's handler.
package report
