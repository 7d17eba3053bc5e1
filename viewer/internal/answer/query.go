// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// Query is a FlameQL query and the time it looks at.
type Query struct {
	flameql.Query
	// From and Until bound the time; a zero end is open.
	From, Until time.Time
	// KeepIDs keeps the ids in pprof although no condition lists any.
	KeepIDs bool

	// service is the service that App names; see resolve.
	service string
}

// resolve makes a query select the service that it names, if the source has profiles of
// several. Any other name selects all services: spanprof.WithAppName may put any name into the
// addresses.
func (r *Reader) resolve(q Query) Query {
	if q.App == "" {
		return q
	}
	// What is ranged may have the service at another time: its other services are
	// not what was asked for. An id needs no service.
	id, _ := q.SpanID()
	if r.services().among(q.App) || r.ranged() && id == "" {
		q.service = q.App
	}
	return q
}

// title returns in words what the query selects. span is the span of the query, nil if unknown.
func (q Query) title(span *Span) string {
	if span != nil {
		return span.title()
	}
	if name, ok := q.Value(labelkey.SpanName); ok && name != "" {
		return name
	}
	if id, ok := q.SpanID(); ok {
		return "Profile " + id
	}
	if id, ok := q.Value(labelkey.TraceID); ok {
		return "Trace " + id
	}
	if version, ok := q.Value("service_version"); ok && len(q.Without("service_name", "service_version").Matchers) == 0 {
		service, _ := q.Value("service_name")
		return strings.TrimSpace(service + " version " + version)
	}
	if len(q.Matchers) == 0 {
		return cmp.Or(q.service, "Whole process") + ": " + q.Type.Words
	}
	return q.String()
}

// about reports whether a window is of the service and the version of the query.
func (q Query) about(w store.WindowInfo) bool {
	if q.service != "" && w.Service != q.service {
		return false
	}
	for _, m := range q.Matchers {
		switch m.Label() {
		case "service_name":
			if !m.Matches(w.Service) {
				return false
			}
		case "service_version":
			if !m.Matches(w.ServiceVersion) {
				return false
			}
		}
	}
	return true
}

// MaxIDSamples bounds the samples of a pprof with ids: each takes 1 kB while it is written,
// and 3 kB while a profile is built for a comparison.
const MaxIDSamples = 50_000

func (q Query) store() store.Query {
	selected := q.Query
	if q.service != "" {
		selected = selected.WithEqual("service_name", q.service)
	}
	return store.Query{Kind: q.Type.Kind, SampleType: q.Type.SampleType, Matchers: selected.Matchers, From: q.From, Until: q.Until}
}

// BadRequest is an error that the client can correct.
type BadRequest struct{ Err error }

// BadRequestf returns a BadRequest.
func BadRequestf(format string, args ...any) error {
	return BadRequest{fmt.Errorf(format, args...)}
}

func (e BadRequest) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with the request.
func (e BadRequest) Unwrap() error { return e.Err }

// queryError returns an error about a query. The client can correct a query for an
// unknown sample type or for too many samples.
func queryError(action string, q Query, err error) error {
	err = fmt.Errorf("%s %s: %w", action, q, err)
	switch {
	case errors.Is(err, store.ErrUnknownSampleType), errors.Is(err, store.ErrUnsupported):
		return BadRequest{err}
	case errors.Is(err, store.ErrTooManySamples):
		return BadRequestf("%w samples with ids: ask for fewer ids or, with from and until, for less time, or leave the ids out", err)
	}
	return err
}

// Kind is a profile of one type that meets the conditions of a query.
type Kind struct {
	// Type is the profile type in Query, Label its short name.
	Type  string `json:"type"`
	Label string `json:"label"`
	// Measure describes the values.
	Measure string `json:"measure"`
	// Samples counts the samples of the profile's kind.
	Samples int64  `json:"samples"`
	Query   string `json:"query"`
	// Service is set in a list of profiles of several services.
	Service string `json:"service,omitempty"`
}

// kinds lists the types of profiles that have samples for the conditions of q. The type of q
// and CPU time are always listed, minor types only if q is of one.
func (r *Reader) kinds(q Query) []Kind {
	totals := map[exporter.Kind]int64{}
	for _, t := range r.totals(q) {
		totals[t.Kind] = t.Samples
	}
	list := []Kind{}
	cpu := r.cpuType()
	types := slices.Clone(flameql.Types)
	for _, kind := range slices.Sorted(maps.Keys(totals)) {
		if t, ok := flameql.Other(kind); ok {
			types = append(types, t)
		}
	}
	for _, t := range types {
		total := totals[t.Kind]
		if t != q.Type && t != cpu && (total == 0 || t.Minor) {
			continue
		}
		other := q.Query
		other.Type = t
		list = append(list, Kind{Type: t.Name, Label: t.Label, Measure: t.Words, Samples: total, Query: other.String()})
	}
	return list
}

const maxServices = 100

// process lists the profiles of the whole process, or of each process if there are several
// services: of the first hundred by name. Types without a sample are left out.
func (r *Reader) process(held services) []Kind {
	list := []Kind{}
	if held.several() {
		for _, service := range held[:min(maxServices, len(held))] {
			for _, k := range r.kinds(r.resolve(Query{Query: held.query(service)})) {
				k.Service = service
				list = append(list, k)
			}
		}
	} else {
		list = r.kinds(Query{Query: flameql.Query{Type: flameql.CPU}})
	}
	return slices.DeleteFunc(list, func(k Kind) bool { return k.Samples == 0 })
}
