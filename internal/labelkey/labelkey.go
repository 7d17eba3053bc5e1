// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package labelkey has the keys of the labels that tie samples to spans. The
// root package, which documents them, sets them; all others read them.
package labelkey

// The keys of the goroutine labels of a span.
const (
	ProfileID = "profile_id"
	SpanID    = "span_id"
	SpanName  = "span_name"
	TraceID   = "trace_id"
)
