// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"
)

// spanRecord is a Span as it is kept: ids in binary, shared names.
type spanRecord struct {
	traceID          trace.TraceID
	spanID, parentID trace.SpanID
	name             *spanName
	service          string
	status           string
	// start and duration are in nanoseconds, start since 1970.
	start, duration int64
	err, localRoot  bool
}

// spanName is a name and the number of spans that have it.
type spanName struct {
	value string
	refs  int
}

func (r *spanRecord) span() Span {
	span := Span{
		ProfileID: r.spanID.String(),
		TraceID:   r.traceID.String(),
		Name:      r.name.value,
		Service:   r.service,
		Start:     time.Unix(0, r.start),
		Duration:  time.Duration(r.duration),
		Err:       r.err,
		Status:    r.status,
		LocalRoot: r.localRoot,
	}
	if r.parentID.IsValid() {
		span.ParentID = r.parentID.String()
	}
	return span
}

// cut returns at most maxTextLen bytes of s, and no part of a rune.
func cut(s string) string {
	if len(s) <= maxTextLen {
		return s
	}
	n := maxTextLen
	for n > maxTextLen-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
