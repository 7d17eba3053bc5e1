// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"maps"
	"net/url"
	"strings"
)

// Option configures a TracerProvider.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

// WithAppName sets the application's name in profile URLs. The default is
// service.name of the spans' resource.
func WithAppName(name string) Option {
	return optionFunc(func(c config) config {
		c.appName = name
		return c
	})
}

// WithPyroscopeURL sets the address that profile URLs begin with: that of the page
// of package inprocess, of "spanprof view" over a Pyroscope server, or of a Pyroscope
// server before 1.0. Later servers refuse or ignore the URLs:
// [WithGrafanaProfileURL] makes those that Grafana answers.
func WithPyroscopeURL(addr string) Option {
	return optionFunc(func(c config) config {
		c.url = addr
		return c
	})
}

// WithRootSpanOnly says whether local roots alone have labels of their own. True,
// the default, labels the work of a local root and of all its descendants with
// the local root's id and name; false gives every span its own. It sets both
// scopes, but for names that are switched off; [WithSpanIDLabelScope] and
// [WithSpanNameLabelScope] after it set one.
func WithRootSpanOnly(rootOnly bool) Option {
	scope := ScopeAllSpans
	if rootOnly {
		scope = ScopeRootSpan
	}
	return optionFunc(func(c config) config {
		c.idScope = scope
		if c.nameScope != ScopeNone {
			c.nameScope = scope
		}
		return c
	})
}

// WithAddSpanName says whether there is a label with the span's name, by
// default true. The number of names is bounded, see [WithMaxSpanNames].
func WithAddSpanName(add bool) Option {
	return optionFunc(func(c config) config {
		switch {
		case !add:
			c.nameScope = ScopeNone
		case c.nameScope == ScopeNone:
			c.nameScope = max(c.idScope, ScopeRootSpan)
		}
		return c
	})
}

// WithSpanNameLabelScope says which spans' names are labels. The default is
// ScopeRootSpan.
func WithSpanNameLabelScope(s Scope) Option {
	return optionFunc(func(c config) config {
		c.nameScope = s
		return c
	})
}

// WithSpanIDLabelScope says which spans' ids are labels. The default is
// ScopeRootSpan. Without ids, by ScopeNone, spans have no profiles of their own;
// trace ids stay.
func WithSpanIDLabelScope(s Scope) Option {
	return optionFunc(func(c config) config {
		c.idScope = s
		return c
	})
}

// WithProfileURL says whether spans get the attribute [AttributeProfileURL].
// It needs an address by [WithPyroscopeURL], unless [WithProfileURLTemplate],
// [WithGrafanaProfileURL] or [WithProfileURLBuilder] make the URL.
func WithProfileURL(add bool) Option {
	return optionFunc(func(c config) config {
		c.profileURL = add
		return c
	})
}

// WithProfileURLTemplate makes the attribute [AttributeProfileURL] by a template, for a
// tool with URLs of its own form:
//
//	spanprof.WithProfileURLTemplate("https://profiles.example.com/{service}?span={span_id}&from={window_from_ms}&to={window_to_ms}")
//
// The placeholders are
//
//	{span_id}         the value of the labels LabelSpanID and LabelProfileID, 16 hex digits
//	{trace_id}        32 hex digits
//	{service}         service.name of the span's resource, or the name of WithAppName
//	{span_name}       the value of the label LabelSpanName
//	{from_ms}         the span's start, in ms since 1970
//	{to_ms}           when End was called, rounded up
//	{window_from_ms}  a minute before the start, {window_to_ms} a minute after the
//	                  end: what asks for profiles by the time at which their windows
//	                  begin finds those with the span's samples in this time
//
// and the times with _s and _ns in place of _ms. Values are escaped for a path, a query or a
// fragment. A template with other placeholders, or that makes no address, is reported and spans
// get no URL. Of several options that say how the URL is made the last one counts, and
// [WithPyroscopeURL] is not one of them.
func WithProfileURLTemplate(template string) Option {
	return optionFunc(func(c config) config {
		c.profileURL, c.urlForm, c.templateText = true, urlByTemplate, template
		return c
	})
}

// WithGrafanaProfileURL makes the attribute [AttributeProfileURL] a link to the span's CPU
// profile in Grafana Profiles Drilldown. addr is Grafana's address, dataSource the uid of its
// Pyroscope data source. Drilldown makes links of this form in links.ts of
// https://github.com/grafana/profiles-drilldown. The service's name in Pyroscope has to be service.name of the spans'
// resource, or the name of [WithAppName].
func WithGrafanaProfileURL(addr, dataSource string) Option {
	return optionFunc(func(c config) config {
		c.profileURL, c.urlForm, c.grafana, c.dataSource = true, urlOfGrafana, addr, dataSource
		return c
	})
}

// WithProfileURLBuilder makes the attribute [AttributeProfileURL] by a function of the profile
// id. End calls it for each span with a profile of its own and waits for it, on many goroutines
// at once; so do [NewSpanExporter] at the export, and a [LogHandler] with [WithLogLinks] for each
// record. Where it panics, or returns "" or what is not UTF-8, there is no URL, and the first
// time is reported.
func WithProfileURLBuilder(build func(id string) string) Option {
	return optionFunc(func(c config) config {
		c.profileURL, c.urlForm, c.urlBuilder = true, urlByBuilder, build
		return c
	})
}

// WithDefaultProfileURLBuilder is short for [WithPyroscopeURL], [WithAppName] and
// [WithProfileURL](true), for programs that have it.
func WithDefaultProfileURLBuilder(addr, app string) Option {
	return optionFunc(func(c config) config {
		c.profileURL, c.urlForm, c.url, c.appName = true, urlOfPage, addr, app
		return c
	})
}

// DefaultProfileURLBuilder returns a function for [WithProfileURLBuilder]. Its URLs are those
// of [WithDefaultProfileURLBuilder] without times.
func DefaultProfileURLBuilder(addr, app string) func(id string) string {
	head := strings.TrimRight(addr, "/") + "/?query=" + url.QueryEscape(app+".cpu{"+LabelProfileID+"=\"")
	return func(id string) string { return head + url.QueryEscape(id) + "%22%7D" }
}

// WithProfileBaselineURL says whether spans get the attributes
// [AttributeBaselineURL] and [AttributeDiffURL]. They need [WithPyroscopeURL].
func WithProfileBaselineURL(add bool) Option {
	return optionFunc(func(c config) config {
		c.baselineURL = add
		return c
	})
}

// WithProfileBaselineLabels adds labels to the query of the baseline, beside
// those that the span's samples carry: those that a profiler puts on all that it
// uploads, say. A label with an empty value takes that label out of the query.
func WithProfileBaselineLabels(labels map[string]string) Option {
	labels = maps.Clone(labels)
	return optionFunc(func(c config) config {
		c.baselineLabels = labels
		return c
	})
}

// WithoutProfileIDAttribute leaves out the attribute [AttributeProfileID].
//
// The attribute is what leads from an exported trace to the profile: Grafana's link needs
// it. It costs an empty span about 110 ns, and one with 8 attributes of its own some 450 ns and
// 1.7 kB, because the SDK makes room for a ninth. A program that exports no traces
// does without it: the page of package inprocess finds spans by their own ids, in both
// scopes. It loses one hint of the page, which tracers were got from the provider that is
// not wrapped. A program that exports traces, and wants the attribute at less cost to
// its spans, has it added on the way to the exporter, by [NewSpanExporter].
func WithoutProfileIDAttribute() Option {
	return optionFunc(func(c config) config {
		c.noProfileID = true
		return c
	})
}

// WithMaxSpanNames bounds the number of different values of [LabelSpanName] in
// the life of the provider. The default is 256. Names that come later are
// labelled [OtherSpanName]. A name counts when a span starts with it, even if
// SetName changes it at once: start spans by the name of their kind, not by a
// path with ids in it.
func WithMaxSpanNames(n int) Option {
	return optionFunc(func(c config) config {
		c.maxNames = n
		return c
	})
}

// WithMaxSpanNameLength bounds the length of [LabelSpanName] in bytes. The
// default is 128. Longer names are cut between two runes.
func WithMaxSpanNameLength(bytes int) Option {
	return optionFunc(func(c config) config {
		c.maxNameBytes = bytes
		return c
	})
}

// WithUnsampledSpanNames puts [LabelSpanName], and no other label, on local
// roots that are not sampled, so that CPU profiles by span name stay whole
// under head sampling. It costs these spans about what the labels of a sampled
// one cost. Off by default: spans that are not sampled cost next to nothing.
func WithUnsampledSpanNames() Option {
	return optionFunc(func(c config) config {
		c.unsampledNames = true
		return c
	})
}

// WithRecordOnlySpans labels spans that are recorded but not sampled
// (sdktrace.RecordOnly) like sampled ones: tracing does not export them, but
// span processors see them, and so the in-process store has them with their
// profiles. Off by default.
func WithRecordOnlySpans() Option {
	return optionFunc(func(c config) config {
		c.recordOnly = true
		return c
	})
}

// WithPublicLabelsOnly labels goroutines by the public API of runtime/pprof alone, as
// the build tag spanprof_public does, and a Go version whose runtime is not as expected.
// Use it to see whether a problem is one of the default, which reads and writes
// goroutine labels by the runtime's own functions.
//
// The public API sets labels. It does not tell which ones a goroutine carries, nor
// goroutines apart: runtime.Stack does, and takes 7 us and more. So
//
//   - labels of a goroutine that are not in the context of a span are lost to the span
//     and after it;
//   - End puts the labels of the context that the span was started with on the goroutine
//     that calls it, whichever that is and whatever it carried: a span that ends
//     elsewhere changes the labels there, a parent that ends before its child takes the
//     child's off, and so do overlapping roots. A child that is never ended leaves nothing
//     behind; one that ends during the next request takes that one's labels off;
//   - a worker of a pool has, after the span of a job, the labels of the job's context
//     if the span in that is still open, and none if it has ended. [Do] leaves a worker
//     without labels;
//   - SetName labels the goroutine that calls it;
//   - [TracerProvider.EndsElsewhere] counts nothing.
//
// As by default, labels of a span that has ended do not come back, unless more than 32
// spans around it have ended too; then End leaves none but the user's.
func WithPublicLabelsOnly() Option {
	return optionFunc(func(c config) config {
		c.publicLabels = true
		return c
	})
}
