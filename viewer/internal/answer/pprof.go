// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/profiledir"
	"github.com/spanprof/spanprof/store"
)

// Pprof is a profile for go tool pprof and others, with the file name of its download.
type Pprof struct {
	FileName string
	Profile  *profile.Profile
}

// Pprof answers the samples that q selects, or else the samples of its local root, with their
// labels. If the time of the span is known, the profile lasts as long as the span. The windows
// around a short one would make it look idle.
func (r *Reader) Pprof(q Query) (*Pprof, error) {
	name := fileName(q.Query, q.Type.Name)
	q = r.resolve(q)
	p := r.profileOf(q)
	if len(p.Sample) == 0 {
		if root, _, ok := r.localRoot(q); ok {
			q, p = root, r.profileOf(root)
		}
	}
	id, _ := q.SpanID()
	if span, ok := r.span(id); ok && !span.Manual && !span.SummaryMissing {
		p.TimeNanos, p.DurationNanos = span.Start.UnixNano(), span.Duration.Nanoseconds()
	}
	return answered(r, &Pprof{name, p})
}

// profileOf returns the samples that q selects. Ids that the request does not name would take
// most of a large profile: they are left out.
func (r *Reader) profileOf(q Query) *profile.Profile {
	asked := q.store()
	asked.Pprof = true
	if asked.IDs = q.KeepIDs || slices.ContainsFunc(q.Matchers, store.Matcher.ListsIDs); asked.IDs {
		asked.MaxSamples = MaxIDSamples
	}
	return cmp.Or(r.sumsOf("profile", q, asked).Profile, new(profile.Profile))
}

// fileName names a download after the query and its type, in characters that every shell and
// file system accepts.
func fileName(q flameql.Query, what string) string {
	id, _ := q.SpanID()
	name, _ := q.Value(labelkey.SpanName)
	base := profiledir.Plain(cmp.Or(q.App, "spanprof") + "." + what + "." + cmp.Or(id, name, "all"))
	return base[:min(len(base), 120)] + ".pb.gz"
}
