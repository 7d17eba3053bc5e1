// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/report"
)

// openReach is how long after the log record the link of an open span ends. Links to spans
// that have ended have the real end.
const openReach = time.Hour

// logHandler adds the ids of the current span to log records.
type logHandler struct {
	config logConfig
	// inner has the attributes and groups of the program, base those before
	// the first group, and grouped adds the others. Without groups, base and
	// inner are the same.
	inner, base slog.Handler
	grouped     []func(slog.Handler) slog.Handler
}

var _ slog.Handler = (*logHandler)(nil)

// LogOption configures NewLogHandler. A nil LogOption does nothing.
type LogOption interface{ apply(c *logConfig) }

type logOptionFunc func(*logConfig)

func (f logOptionFunc) apply(c *logConfig) { f(c) }

type logConfig struct {
	links, onlyProfile bool
}

// WithLogLinks adds profile_url too, by the options of the TracerProvider: the URL of the
// span's attribute pyroscope.profile.url. While the span is open, its end in the URL is an
// hour after the record.
func WithLogLinks() LogOption {
	return logOptionFunc(func(c *logConfig) { c.links = true })
}

// WithoutLogSpanIDs leaves out trace_id and span_id, for handlers that record them
// by themselves, such as otelslog's.
func WithoutLogSpanIDs() LogOption {
	return logOptionFunc(func(c *logConfig) { c.onlyProfile = true })
}

// NewLogHandler returns a handler that passes records on to inner. Under a span it adds
// trace_id, span_id, and profile_id, the value of the label LabelProfileID. There is no
// profile_id if the span is not sampled, or if only [NewSpanProcessor] labels it. The page
// finds the profile by trace_id and span_id too.
//
//	logger := slog.New(spanprof.NewLogHandler(slog.NewJSONHandler(os.Stderr, nil)))
//	logger.InfoContext(ctx, "order placed") // ... "trace_id":"...","span_id":"...","profile_id":"..."
//
// It needs the span's context: use the functions of slog with names that end in Context. The
// attributes are outside of the program's groups. In root scope, the
// default, profile_id is the span id of the local root.
//
// A nil inner is slog's text handler on standard error; a nil pointer is reported too. The
// result is safe for concurrent use if inner is. Do not give slog.SetDefault a logger that wraps
// the first handler of slog.Default: its first record waits for itself (golang/go#62424).
func NewLogHandler(inner slog.Handler, options ...LogOption) slog.Handler {
	if report.IsNil(inner) {
		if inner != nil {
			otel.Handle(fmt.Errorf("spanprof: NewLogHandler: the inner handler is a nil %T; using standard error", inner))
		}
		inner = slog.NewTextHandler(os.Stderr, nil)
	}
	h := &logHandler{inner: inner, base: inner}
	for _, o := range options {
		if o != nil {
			o.apply(&h.config)
		}
	}
	return h
}

func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

// Handle passes the record on, with the ids of the span in ctx.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
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

// ids appends the attributes for the span in ctx.
func (h *logHandler) ids(ctx context.Context, ids []slog.Attr) []slog.Attr {
	if ctx == nil {
		return ids
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() && !h.config.onlyProfile {
		ids = append(ids, slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	id, ok := pprof.Label(ctx, LabelProfileID)
	if !ok {
		return ids
	}
	ids = append(ids, slog.String("profile_id", id))
	if h.config.links {
		if url := openURL(ctx, id); url != "" {
			ids = append(ids, slog.String("profile_url", url))
		}
	}
	return ids
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	// The inner handler owns its argument. In a group it gets the attributes again with
	// each record.
	with := func(inner slog.Handler) slog.Handler { return inner.WithAttrs(slices.Clone(attrs)) }
	return h.with(with, len(h.grouped) > 0)
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.with(func(inner slog.Handler) slog.Handler { return inner.WithGroup(name) }, true)
}

func (h *logHandler) with(apply func(slog.Handler) slog.Handler, grouped bool) *logHandler {
	next := *h
	next.inner = apply(h.inner)
	if grouped {
		next.grouped = append(slices.Clip(h.grouped), apply)
	} else {
		next.base = next.inner
	}
	return &next
}

// openURL returns the profile URL of the span with the labels in ctx, "" if its provider
// makes none. The span may be open.
func openURL(ctx context.Context, id string) string {
	s, ok := ctx.Value(stateKey{}).(*spanState)
	if !ok || s.root == nil {
		return ""
	}
	if !s.profiled {
		s = s.root // in root scope the profile is the local root's, perhaps of another provider
	}
	l := s.by.links
	if !s.profiled || l == nil || s.block.ID() != id {
		return ""
	}
	end := time.Now().Add(openReach)
	if ended, ok := s.ctx.span.(interface{ EndTime() time.Time }); ok && !ended.EndTime().IsZero() {
		end = ended.EndTime()
	}
	l.prepare(s.ctx.span)
	var url strings.Builder
	l.writeProfileURL(&url, s.link(s.startTime(), end))
	return url.String()
}
