// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"fmt"
	"maps"
	"net/url"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"go.opentelemetry.io/otel"
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

// links makes the URL attributes. What spans have in common is escaped once.
type links struct {
	config *config

	prepared sync.Once
	selector string // app.cpu{ , escaped
	extra    string // the configured baseline labels, escaped

	// The parts of a profile URL between id, start and end, and those of a
	// comparison that do not depend on the baseline.
	profileHead, comparisonHead, rightHead string
	// room is the length of the URLs without the baseline's queries.
	room int
	// baselines are the escaped queries by span name.
	baselines *boundedMap
}

// The parameters of the URLs between what differs from span to span.
const (
	profileFrom     = "%22%7D&from="
	comparisonFrom  = "&from="
	until           = "&until="
	leftQuery       = "&leftQuery="
	leftFrom        = "&leftFrom="
	leftUntil       = "&leftUntil="
	rightFrom       = "%22%7D&rightFrom="
	rightUntil      = "&rightUntil="
	idLen, nanosLen = 16, 20
)

func newLinks(c *config) *links {
	if !c.profileURL && !c.baselineURL {
		return nil
	}
	return &links{config: c, baselines: newBoundedMap(c.maxNames + 1)}
}

// prepare escapes what spans have in common. The application's name is known
// only when the first span shows its resource, unless WithAppName told it.
func (l *links) prepare(span any) {
	l.prepared.Do(func() {
		app := l.config.appName
		if app == "" {
			app = serviceName(span)
		}
		// A query without an application begins with the dot and asks all.
		if strings.ContainsAny(app, "{}") {
			otel.Handle(fmt.Errorf("spanprof: the application name %q cannot be part of a query and is left out of profile URLs: set another one by WithAppName", app))
			app = ""
		}
		l.selector = url.QueryEscape(app + ".cpu{")
		span := l.selector + url.QueryEscape(LabelProfileID+"=\"")
		l.profileHead = l.config.url + "/?query=" + span
		l.comparisonHead = l.config.url + "/comparison?query="
		l.rightHead = "&rightQuery=" + span
		if l.config.profileURL {
			l.room = len(l.profileHead) + len(profileFrom) + len(until) + idLen + 2*nanosLen
		}
		if l.config.baselineURL {
			l.room += len(l.comparisonHead) + len(comparisonFrom) + len(until) + len(leftQuery) + len(leftFrom) +
				len(leftUntil) + len(l.rightHead) + len(rightFrom) + len(rightUntil) + idLen + 6*nanosLen
		}
		var extra strings.Builder
		for _, key := range slices.Sorted(maps.Keys(l.config.baselineLabels)) {
			if value := l.config.baselineLabels[key]; value != "" {
				writeSelector(&extra, key, value)
			}
		}
		l.extra = url.QueryEscape(extra.String())
	})
}

// linkTo is what the URLs of a span depend on.
type linkTo struct {
	id         string // of the labels
	start, end time.Time
	baseline   string // the escaped query of the span's baseline, if there is a URL for it
}

// appendAttributes appends the URL attributes of a span. l is prepared.
func (l *links) appendAttributes(kv []attribute.KeyValue, to *linkTo) []attribute.KeyValue {
	var digits [3][nanosLen]byte
	start, end := appendNanos(digits[0][:0], to.start), appendNanos(digits[1][:0], to.end)

	// One string for both: allocations cost more than what they hold.
	var urls strings.Builder
	urls.Grow(l.room + 2*len(to.baseline))
	if l.config.profileURL {
		urls.WriteString(l.profileHead)
		urls.WriteString(to.id)
		urls.WriteString(profileFrom)
		urls.Write(start)
		urls.WriteString(until)
		urls.Write(end)
	}
	profileLen := urls.Len()
	if l.config.baselineURL {
		// The baseline is on the left, the span on the right.
		from := appendNanos(digits[2][:0], to.start.Add(-baselineReach))
		urls.WriteString(l.comparisonHead)
		urls.WriteString(to.baseline)
		urls.WriteString(comparisonFrom)
		urls.Write(from)
		urls.WriteString(until)
		urls.Write(end)
		urls.WriteString(leftQuery)
		urls.WriteString(to.baseline)
		urls.WriteString(leftFrom)
		urls.Write(from)
		urls.WriteString(leftUntil)
		urls.Write(end)
		urls.WriteString(l.rightHead)
		urls.WriteString(to.id)
		urls.WriteString(rightFrom)
		urls.Write(start)
		urls.WriteString(rightUntil)
		urls.Write(end)
	}
	both := urls.String()
	if l.config.profileURL {
		kv = append(kv, attribute.String(AttributeProfileURL, both[:profileLen]))
	}
	if l.config.baselineURL {
		kv = append(kv, attribute.String(AttributeBaselineURL, both[profileLen:]))
	}
	return kv
}

func appendNanos(b []byte, t time.Time) []byte { return strconv.AppendInt(b, t.UnixNano(), 10) }

// baseline returns the escaped query of the span's baseline: its labels but for
// the ids, and the configured ones.
func (l *links) baseline(s *spanState) string {
	if !s.by.labeler.hasUserLabels(s) {
		return l.baselineOf(s.by.labeler.name(s))
	}
	var selectors strings.Builder
	pprof.ForLabels(&s.ctx, func(key, value string) bool {
		if key == LabelSpanName || !isSpanLabel(key) {
			l.writeLabel(&selectors, key, value)
		}
		return true
	})
	return l.query(selectors.String())
}

// baselineOf returns the escaped query of the baseline of a span without labels
// of the user's.
func (l *links) baselineOf(name string) string {
	if query, ok := l.baselines.get(name); ok {
		return query
	}
	var selectors strings.Builder
	if name != "" {
		l.writeLabel(&selectors, LabelSpanName, name)
	}
	query := l.query(selectors.String())
	l.baselines.add(name, query)
	return query
}

func (l *links) query(selectors string) string {
	query := l.selector + url.QueryEscape(selectors)
	if selectors != "" && l.extra != "" {
		query += "%2C"
	}
	return query + l.extra + "%7D"
}

// writeLabel writes a label of the span's, unless the configuration has its say
// on that label.
func (l *links) writeLabel(b *strings.Builder, key, value string) {
	if _, ok := l.config.baselineLabels[key]; !ok {
		writeSelector(b, key, value)
	}
}

// isLabelName reports whether a query can name a label. A baseline without the
// other labels is a wider one, a query that names them an error.
func isLabelName(key string) bool {
	return key != "" && !strings.ContainsAny(key, "=!~,{}\"`") && !strings.ContainsFunc(key, unicode.IsSpace)
}

func writeSelector(b *strings.Builder, key, value string) {
	if !isLabelName(key) {
		return
	}
	if b.Len() > 0 {
		b.WriteByte(',')
	}
	b.WriteString(key)
	b.WriteByte('=')
	b.WriteString(strconv.Quote(value))
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
