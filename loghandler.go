// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"log/slog"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// The keys of the attributes that a LogHandler adds.
const (
	logTraceID    = "trace_id"
	logSpanID     = "span_id"
	logProfileID  = "profile_id"
	logProfileURL = "profile_url"
)

// openReach is how long after a log record its span can end for the record's link to
// open all of it. Links to spans that have ended have the real end.
const openReach = time.Hour

// LogHandler adds to each log record that is written under a span what leads to the span's
// profile: trace_id, span_id, and profile_id, the value of the label LabelProfileID. Without
// a span it adds nothing, and no profile_id where the span has no labels, as when it is not
// sampled.
//
//	logger := slog.New(spanprof.NewLogHandler(slog.NewJSONHandler(os.Stderr, nil)))
//	logger.InfoContext(ctx, "order placed") // ... "trace_id":"...","span_id":"...","profile_id":"..."
//
// It needs the span's context: use the functions of slog whose names end in Context. The
// attributes stand beside those of the program, outside of its groups.
//
// In root scope, the default, the profile is that of the local root, and profile_id its span
// id. A [SpanProcessor] puts no labels into contexts: under its spans there is no profile_id, but
// the page finds the profile by trace_id and span_id.
//
// OTEL_SDK_DISABLED and SPANPROF_DISABLED take the labels away, and so profile_id and
// profile_url; a span that there is all the same keeps its trace_id and span_id.
type LogHandler struct {
	config logConfig
	// inner has the attributes and groups of the program; base has those before
	// the first group, and grouped puts the others on it. Without groups, base and
	// inner are the same.
	inner, base slog.Handler
	grouped     []func(slog.Handler) slog.Handler
}

var _ slog.Handler = (*LogHandler)(nil)

// LogOption configures NewLogHandler.
type LogOption interface {
	apply(config logConfig) logConfig
}

type logOptionFunc func(logConfig) logConfig

func (f logOptionFunc) apply(c logConfig) logConfig { return f(c) }

type logConfig struct {
	links, onlyProfile bool
}

// WithLogLinks adds profile_url too: the URL that the span's attribute [AttributeProfileURL]
// will have, by the options of the TracerProvider, except that of a span that goes on its end is
// not known; up to an hour after the record counts.
func WithLogLinks() LogOption {
	return logOptionFunc(func(c logConfig) logConfig {
		c.links = true
		return c
	})
}

// WithoutLogSpanIDs leaves out trace_id and span_id, for handlers that record them
// by themselves, such as otelslog's.
func WithoutLogSpanIDs() LogOption {
	return logOptionFunc(func(c logConfig) logConfig {
		c.onlyProfile = true
		return c
	})
}

// NewLogHandler returns a handler that passes records on to inner. A nil inner is slog's text
// handler on standard error. It is safe for concurrent use if inner is.
//
// The handler that slog.Default has before any slog.SetDefault is no inner for a logger that
// is then given to slog.SetDefault: the first record waits for itself, as with all handlers that
// wrap it (golang/go#62424).
func NewLogHandler(inner slog.Handler, options ...LogOption) *LogHandler {
	if inner == nil {
		inner = slog.NewTextHandler(os.Stderr, nil)
	}
	h := &LogHandler{inner: inner, base: inner}
	for _, o := range options {
		if o != nil {
			h.config = o.apply(h.config)
		}
	}
	return h
}

// Enabled asks the inner handler.
func (h *LogHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

// Handle passes the record on, with the ids of the span in ctx.
func (h *LogHandler) Handle(ctx context.Context, r slog.Record) error {
	var room [4]slog.Attr
	ids := h.ids(ctx, room[:0])
	if len(ids) == 0 {
		return h.inner.Handle(ctx, r)
	}
	if len(h.grouped) == 0 {
		r = r.Clone()
		r.AddAttrs(ids...)
		return h.inner.Handle(ctx, r)
	}
	// An attribute of the record would be in the group.
	inner := h.base.WithAttrs(slices.Clone(ids))
	for _, apply := range h.grouped {
		inner = apply(inner)
	}
	return inner.Handle(ctx, r)
}

// ids appends what the handler adds under the span in ctx.
func (h *LogHandler) ids(ctx context.Context, ids []slog.Attr) []slog.Attr {
	if ctx == nil {
		return ids
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() && !h.config.onlyProfile {
		ids = append(ids, slog.String(logTraceID, sc.TraceID().String()), slog.String(logSpanID, sc.SpanID().String()))
	}
	id, ok := pprof.Label(ctx, LabelProfileID)
	if !ok {
		return ids
	}
	ids = append(ids, slog.String(logProfileID, id))
	if h.config.links {
		if url := openURL(ctx, id); url != "" {
			ids = append(ids, slog.String(logProfileURL, url))
		}
	}
	return ids
}

// WithAttrs returns a handler whose records have the attributes.
func (h *LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	// The inner handler owns what it is given, and is given them again with each record
	// in a group.
	return h.with(func(inner slog.Handler) slog.Handler { return inner.WithAttrs(slices.Clone(attrs)) }, len(h.grouped) > 0)
}

// WithGroup returns a handler whose records have what the program adds from here on in
// a group.
func (h *LogHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.with(func(inner slog.Handler) slog.Handler { return inner.WithGroup(name) }, true)
}

func (h *LogHandler) with(apply func(slog.Handler) slog.Handler, grouped bool) *LogHandler {
	next := *h
	next.inner = apply(h.inner)
	if grouped {
		next.grouped = append(slices.Clip(h.grouped), apply)
	} else {
		next.base = next.inner
	}
	return &next
}

// openURL returns the profile URL of the span whose labels ctx has, "" if its provider makes
// none.
func openURL(ctx context.Context, id string) string {
	s, ok := ctx.Value(stateKey{}).(*spanState)
	if !ok || s.root == nil {
		return ""
	}
	if !s.profiled {
		s = s.root // in root scope the profile is the local root's, whose provider may be another one
	}
	if !s.profiled || s.by.links == nil || s.by.labeler.profileID(s) != id {
		return ""
	}
	return s.by.openURL(s)
}
