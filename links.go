// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"maps"
	"net/url"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
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
)

// baselineReach is how far before the span's start its baseline begins.
const baselineReach = time.Hour

// links makes the URL attributes. What is the same for all spans is escaped
// once.
type links struct {
	config *config

	app      sync.Once
	selector string // app.cpu{ , escaped
	spanHead string // app.cpu{profile_id=" , escaped
	extra    string // the configured baseline labels, escaped
}

var escapedEnd = url.QueryEscape("\"}")

func newLinks(c *config) *links {
	if !c.profileURL && !c.baselineURL {
		return nil
	}
	l := &links{config: c}
	var extra strings.Builder
	for _, key := range slices.Sorted(maps.Keys(c.baselineLabels)) {
		if value := c.baselineLabels[key]; value != "" {
			writeSelector(&extra, key, value)
		}
	}
	l.extra = url.QueryEscape(extra.String())
	return l
}

// prepare escapes the parts that hold the application's name, which without
// WithAppName is known only when the first span shows its resource.
func (l *links) prepare(span trace.Span) {
	l.app.Do(func() {
		app := l.config.appName
		if app == "" {
			app = serviceName(span)
		}
		l.selector = url.QueryEscape(app + ".cpu{")
		l.spanHead = l.selector + url.QueryEscape(LabelProfileID+"=\"")
	})
}

// setLinks sets the URL attributes of a span that is about to end.
func (tp *TracerProvider) setLinks(span trace.Span, s *spanState) {
	if tp.links == nil {
		return
	}
	l := tp.links
	l.prepare(span)
	start, end := startTime(span), time.Now()
	id := s.labelID.String()

	var attributes [2]attribute.KeyValue
	kv := attributes[:0]
	if tp.config.profileURL {
		kv = append(kv, attribute.String(AttributeProfileURL, l.profileURL(id, start, end)))
	}
	if tp.config.baselineURL {
		kv = append(kv, attribute.String(AttributeBaselineURL, l.baselineURL(&s.ctx, id, start, end)))
	}
	span.SetAttributes(kv...)
}

func (l *links) profileURL(id string, start, end time.Time) string {
	b := make([]byte, 0, len(l.config.url)+len(l.spanHead)+96)
	b = append(b, l.config.url...)
	b = append(b, "/?query="...)
	b = l.appendSpanQuery(b, id)
	b = appendRange(b, "&from=", "&until=", start, end)
	return string(b)
}

// baselineURL compares the baseline on the left with the span on the right.
func (l *links) baselineURL(ctx context.Context, id string, start, end time.Time) string {
	from := start.Add(-baselineReach)
	baseline := l.appendBaselineQuery(ctx, make([]byte, 0, len(l.selector)+len(l.extra)+96))
	b := make([]byte, 0, len(l.config.url)+2*len(baseline)+len(l.spanHead)+256)
	b = append(b, l.config.url...)
	b = append(b, "/comparison?query="...)
	b = append(b, baseline...)
	b = appendRange(b, "&from=", "&until=", from, end)
	b = append(b, "&leftQuery="...)
	b = append(b, baseline...)
	b = appendRange(b, "&leftFrom=", "&leftUntil=", from, end)
	b = append(b, "&rightQuery="...)
	b = l.appendSpanQuery(b, id)
	b = appendRange(b, "&rightFrom=", "&rightUntil=", start, end)
	return string(b)
}

func (l *links) appendSpanQuery(b []byte, id string) []byte {
	b = append(b, l.spanHead...)
	b = append(b, id...)
	return append(b, escapedEnd...)
}

func (l *links) appendBaselineQuery(ctx context.Context, b []byte) []byte {
	var selectors strings.Builder
	pprof.ForLabels(ctx, func(key, value string) bool {
		if key == LabelSpanName || !isSpanLabel(key) {
			if _, ok := l.config.baselineLabels[key]; !ok {
				writeSelector(&selectors, key, value)
			}
		}
		return true
	})
	b = append(b, l.selector...)
	b = append(b, url.QueryEscape(selectors.String())...)
	if selectors.Len() > 0 && l.extra != "" {
		b = append(b, "%2C"...)
	}
	b = append(b, l.extra...)
	return append(b, "%7D"...)
}

func appendRange(b []byte, from, until string, start, end time.Time) []byte {
	b = strconv.AppendInt(append(b, from...), start.UnixNano(), 10)
	return strconv.AppendInt(append(b, until...), end.UnixNano(), 10)
}

func writeSelector(b *strings.Builder, key, value string) {
	if b.Len() > 0 {
		b.WriteByte(',')
	}
	b.WriteString(key)
	b.WriteByte('=')
	b.WriteString(strconv.Quote(value))
}

// startTime returns when span started, or now for a span that does not say.
func startTime(span trace.Span) time.Time {
	if s, ok := span.(interface{ StartTime() time.Time }); ok {
		return s.StartTime()
	}
	return time.Now()
}

// serviceName returns service.name of the span's resource, or of the default
// one for a span that does not say.
func serviceName(span trace.Span) string {
	r := resource.Default()
	if s, ok := span.(interface{ Resource() *resource.Resource }); ok {
		r = s.Resource()
	}
	name, _ := r.Set().Value("service.name")
	return name.AsString()
}
