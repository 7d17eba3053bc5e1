// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
)

// pprof answers with the samples that q selects and their labels.
func (h *handler) pprof(ctx context.Context, q query) (response, error) {
	p, err := h.profile(ctx, q)
	if err != nil {
		return response{}, err
	}
	return pprofResponse(p, fileName(q.flameQL))
}

// profile returns the samples that q selects, for a client that still waits for
// them. That of a span lasts as long as the span.
func (h *handler) profile(ctx context.Context, q query) (*profile.Profile, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := h.store.Profile(q.store())
	if err != nil {
		return nil, queryError("profile", q, err)
	}
	if id, _ := q.spanID(); id != "" {
		if span, ok := h.store.Span(id); ok && !span.Manual && !span.SummaryMissing {
			// The windows around a short span would make it look idle.
			p.TimeNanos, p.DurationNanos = span.Start.UnixNano(), span.Duration.Nanoseconds()
		}
	}
	return p, ctx.Err()
}

// pprofDiff answers with the samples of right less those of left. The left side
// is scaled to the total of the right one, so that shares are compared, and
// marked as pprof marks the base of a comparison: go tool pprof then gives
// percentages of the base.
func (h *handler) pprofDiff(ctx context.Context, left, right query) (response, error) {
	base, err := h.profile(ctx, left)
	if err != nil {
		return response{}, err
	}
	p, err := h.profile(ctx, right)
	if err != nil {
		return response{}, err
	}
	if len(base.Sample) == 0 {
		return pprofResponse(p, fileName(right.flameQL))
	}
	if len(p.Sample) > 0 {
		if err := base.Normalize(p); err != nil {
			return response{}, fmt.Errorf("scale %s to %s: %w", left, right, err)
		}
	}
	base.SetLabel("pprof::base", []string{"true"})
	base.Scale(-1)
	diff, err := profile.Merge([]*profile.Profile{p, base})
	if err != nil {
		return response{}, fmt.Errorf("compare %s with %s: %w", right, left, err)
	}
	diff.TimeNanos, diff.DurationNanos = p.TimeNanos, p.DurationNanos
	return pprofResponse(diff, "diff."+fileName(right.flameQL))
}

func pprofResponse(p *profile.Profile, name string) (response, error) {
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return response{}, fmt.Errorf("encode %s: %w", name, err)
	}
	return response{
		contentType: "application/octet-stream",
		disposition: fmt.Sprintf("attachment; filename=%q", name),
		body:        b.Bytes(),
	}, nil
}

// fileName names a download after what was asked for, in characters that no
// shell or file system minds.
func fileName(q flameQL) string {
	id, _ := q.spanID()
	name, _ := q.value(labelkey.SpanName)
	base := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, cmp.Or(q.app, "spanprof")+"."+q.typ.name+"."+cmp.Or(id, name, "all"))
	return base[:min(len(base), 120)] + ".pb.gz"
}
