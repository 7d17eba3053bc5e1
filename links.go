// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/linkurl"
	"github.com/spanprof/spanprof/internal/report"
)

// The attributes of a span that has a profile of its own. The keys are those
// that Grafana and the Pyroscope integrations of other languages use.
const (
	// AttributeProfileID is the value of the label LabelProfileID.
	AttributeProfileID = "pyroscope.profile.id"
	// AttributeProfileURL opens the span's profile.
	AttributeProfileURL = "pyroscope.profile.url"
	// AttributeBaselineURL opens the span's profile beside its baseline:
	// the sum of the profiles of the last hour that share the span's labels
	// except for the ids.
	AttributeBaselineURL = "pyroscope.profile.baseline.url"
	// AttributeDiffURL opens the difference between the span's profile and its
	// baseline, in one flame graph.
	AttributeDiffURL = "pyroscope.profile.diff.url"
)

// maxAttributes is how many attributes a span can get.
const maxAttributes = 4

// links makes the URL attributes. What spans have in common is escaped once.
type links struct {
	config   *config
	reporter report.Reporter
	refused  sync.Once

	prepared sync.Once
	selector string // app.cpu{ , escaped
	extra    string // the configured baseline labels, escaped
	urls     []attribute.Key
	forms    []*linkurl.Template // of the urls' values
	room     int                 // for all URLs, but for long names and baselines
	// traceID, name and baseline say which values the URLs need.
	traceID, name, baseline bool

	// baselines are the escaped queries by span name, names the escaped names.
	baselines, names *boundedMap[string]
	// images are the URLs of spans without labels of the user's, by span name.
	images *boundedMap[*linkurl.Image]
}

func newLinks(c *config) *links {
	if !c.profileURL && !c.baselineURL {
		return nil
	}
	n := c.maxNames + 1
	return &links{config: c, baselines: newBoundedMap[string](n), names: newBoundedMap[string](n), images: newBoundedMap[*linkurl.Image](n)}
}

// prepare escapes what spans have in common. The application's name is known
// only when the first span shows its resource, unless WithAppName told it.
func (l *links) prepare(span any) {
	l.prepared.Do(func() {
		app := l.config.appName
		if app == "" {
			app = serviceName(span)
		}
		service := app
		// A query without an application begins with the dot and asks all.
		if strings.ContainsAny(app, "{}") && l.config.asksByQuery() {
			// A handler that ends a span itself must not wait for this.
			l.reporter.Report(fmt.Errorf("spanprof: the application name %q cannot be part of a query and is left out of profile URLs: set another one by WithAppName", app))
			app = ""
		}
		l.selector = url.QueryEscape(app + ".cpu{")
		var extra strings.Builder
		for _, key := range slices.Sorted(maps.Keys(l.config.baselineLabels)) {
			if value := l.config.baselineLabels[key]; value != "" {
				writeSelector(&extra, key, value)
			}
		}
		l.extra = url.QueryEscape(extra.String())

		switch {
		case !l.config.profileURL:
		case l.config.urlForm == urlByTemplate:
			l.addURL(AttributeProfileURL, l.config.urlTemplate.Bind(service))
		case l.config.urlForm == urlOfPage:
			l.addURL(AttributeProfileURL, l.profileTemplate())
		}
		if l.config.baselineURL {
			l.addURL(AttributeBaselineURL, l.comparisonTemplate("/comparison"))
			l.addURL(AttributeDiffURL, l.comparisonTemplate("/comparison-diff"))
		}
	})
}

func (l *links) addURL(key attribute.Key, t *linkurl.Template) {
	l.urls = append(l.urls, key)
	l.forms = append(l.forms, t)
	l.room += t.Room()
	l.traceID = l.traceID || t.Has(linkurl.TraceID)
	l.name = l.name || t.Has(linkurl.SpanName)
	l.baseline = l.baseline || t.Has(linkurl.Baseline)
}

// profileTemplate returns the template of a span's profile on our page.
func (l *links) profileTemplate() *linkurl.Template {
	var t linkurl.Template
	t.Add(l.config.url+"/?query="+l.byID(), linkurl.SpanID)
	t.Add("%22%7D&from=", linkurl.Start)
	t.Add("&until=", linkurl.End)
	return t.Bind("")
}

// comparisonTemplate returns the template of a comparison on our page: the baseline is
// on the left, the span on the right.
func (l *links) comparisonTemplate(path string) *linkurl.Template {
	var t linkurl.Template
	t.Add(l.config.url+path+"?query=", linkurl.Baseline)
	t.Add("&from=", linkurl.BaselineStart)
	t.Add("&until=", linkurl.End)
	t.Add("&leftQuery=", linkurl.Baseline)
	t.Add("&leftFrom=", linkurl.BaselineStart)
	t.Add("&leftUntil=", linkurl.End)
	t.Add("&rightQuery="+l.byID(), linkurl.SpanID)
	t.Add("%22%7D&rightFrom=", linkurl.Start)
	t.Add("&rightUntil=", linkurl.End)
	return t.Bind("")
}

// byID returns the escaped query of a span's profile up to the id.
func (l *links) byID() string { return l.selector + url.QueryEscape(LabelProfileID+"=\"") }

// appendAttributes appends the URL attributes of a span. l is prepared.
func (l *links) appendAttributes(kv []attribute.KeyValue, to *linkurl.Span) []attribute.KeyValue {
	kv = l.appendBuilt(kv, to.ID)
	if len(l.urls) == 0 {
		return kv
	}
	// One string for all: allocations cost more than what they hold.
	var all strings.Builder
	all.Grow(l.room + len(l.urls)*(len(to.Name)+2*len(to.Baseline)))
	for i, key := range l.urls {
		from := all.Len()
		l.forms[i].Write(&all, to)
		kv = append(kv, key.String(all.String()[from:]))
	}
	return kv
}

// appendBuilt appends what the program's builder makes of an id.
func (l *links) appendBuilt(kv []attribute.KeyValue, id string) []attribute.KeyValue {
	if !l.config.profileURL || l.config.urlForm != urlByBuilder {
		return kv
	}
	if built := l.build(id); built != "" {
		kv = append(kv, attribute.String(AttributeProfileURL, built))
	}
	return kv
}

// appendByImage is appendAttributes for a span without labels of the user's, whose Name and
// Baseline are not needed. It is false, with kv as it was, where there is no image for it.
func (l *links) appendByImage(kv []attribute.KeyValue, to *linkurl.Span, name string) ([]attribute.KeyValue, bool) {
	image, ok := l.images.get(name)
	if !ok {
		return kv, false
	}
	text, ok := image.Text(to)
	if !ok {
		return kv, false
	}
	kv = l.appendBuilt(kv, to.ID)
	from := 0
	for i, end := range image.Ends() {
		kv = append(kv, l.urls[i].String(text[from:end]))
		from = end
	}
	return kv, true
}

// profileURL returns the value of AttributeProfileURL, "" if there is none. l is prepared.
func (l *links) profileURL(to *linkurl.Span) string {
	switch {
	case !l.config.profileURL:
		return ""
	case l.config.urlForm == urlByBuilder:
		return l.build(to.ID)
	}
	var b strings.Builder
	l.forms[0].Write(&b, to) // prepare puts it first
	return b.String()
}

// build calls the program's builder, whose failures must not become the span's.
func (l *links) build(id string) (built string) {
	defer func() {
		if r := recover(); r != nil {
			built = ""
			l.refuse(fmt.Errorf("it panicked: %v", r))
		}
	}()
	built = l.config.urlBuilder(id)
	switch {
	case built == "":
		l.refuse(errors.New("it returned nothing"))
	case !utf8.ValidString(built):
		l.refuse(linkurl.ErrNotUTF8)
		return ""
	}
	return built
}

func (l *links) refuse(err error) {
	l.refused.Do(func() {
		l.reporter.Report(fmt.Errorf("spanprof: a span got no %s from the function of WithProfileURLBuilder, further ones are not reported: %w", AttributeProfileURL, err))
	})
}

// setTexts sets what depends on the span's name and on labels of the user's.
func (l *links) setTexts(to *linkurl.Span, s *spanState, name string) {
	if l.name {
		to.Name = l.escapedName(name)
	}
	if l.baseline {
		to.Baseline = l.baselineQuery(s)
	}
}

// escapedName returns a span name for a URL.
func (l *links) escapedName(name string) string {
	if escaped, ok := l.names.get(name); ok {
		return escaped
	}
	escaped := linkurl.Escape(name)
	l.names.add(name, escaped)
	return escaped
}

// startTime returns when the span of s started.
func startTime(span trace.Span, s *spanState) time.Time {
	if said, ok := span.(interface{ StartTime() time.Time }); ok {
		return said.StartTime()
	}
	if ours, ok := s.ctx.span.(*apiSpan); ok {
		return ours.start
	}
	return time.Now()
}

// serviceName returns the name of the span's service. Of a span that does not
// say, it is what the environment says, or "" where that says nothing either.
func serviceName(span any) string {
	if s, ok := span.(interface{ Resource() *resource.Resource }); ok {
		name, _ := s.Resource().Set().Value("service.name")
		return name.AsString()
	}
	name, _ := resource.Default().Set().Value("service.name")
	if strings.HasPrefix(name.AsString(), "unknown_service") {
		return ""
	}
	return name.AsString()
}
