// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"errors"
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
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// AttributeProfileID is an attribute of each span with a profile of its own: the value
// of the label LabelProfileID. Grafana and the Pyroscope integrations of other languages
// use this key.
const AttributeProfileID = "pyroscope.profile.id"

// The attributes of the options for URLs.
const (
	attributeProfileURL  = "pyroscope.profile.url"
	attributeBaselineURL = "pyroscope.profile.baseline.url"
	attributeDiffURL     = "pyroscope.profile.diff.url"
	maxAttributes        = 4 // with the id
)

const (
	// baselineReach is how far before the span's start its baseline begins.
	baselineReach = time.Hour
	// windowReach is how far a profile's window can extend beyond a span in it. Windows
	// of profilers last 10 to 15 s, and up to a minute if configured so.
	windowReach = time.Minute
)

var errNotUTF8 = errors.New("the address is not UTF-8: an OTLP exporter would refuse the whole batch of spans")

// links makes the URL attributes.
type links struct {
	config   *config
	reporter report.Reporter
	refused  sync.Once

	prepared sync.Once
	grafana  string // a URL up to the times
	selector string // app.cpu{ , escaped
	extra    string // the configured baseline labels, escaped
	// baselines are the queries of spans without labels of the user by span name. The
	// number of names is bounded, see spanNames.
	baselines sync.Map
}

// linkedSpan has the values of a span that URLs depend on.
type linkedSpan struct {
	id         string          // the value of LabelProfileID
	name       string          // the value of LabelSpanName, "" if absent
	user       context.Context //nolint:containedctx // with all labels, nil without some of the user's
	start, end time.Time
}

// newLinks returns nil if spans get no URLs.
func newLinks(c *config) *links {
	if !c.profileURL && !c.baselineURL {
		return nil
	}
	return &links{config: c}
}

// link returns the values of a labelled span.
func (s *spanState) link(start, end time.Time) linkedSpan {
	to := linkedSpan{id: s.block.ID(), name: s.block.Name(), start: start, end: end}
	if s.block.HasUserLabels() {
		to.user = &s.ctx
	}
	return to
}

// prepare escapes what all spans share. Without WithAppName the application's name is
// known only with the first span's resource.
func (l *links) prepare(span any) {
	l.prepared.Do(func() {
		app := l.config.appName
		if app == "" {
			app = serviceName(span)
		}
		if l.config.urlForm == urlOfGrafana {
			l.grafana = l.config.grafana + "/a/grafana-pyroscope-app/explore?var-dataSource=" + l.config.dataSource +
				"&var-serviceName=" + url.QueryEscape(app) + "&var-profileMetricId=process_cpu:cpu:nanoseconds:cpu:nanoseconds"
		}
		// A query without an application begins with the dot and selects all.
		if strings.ContainsAny(app, "{}") && (l.config.baselineURL || l.config.urlForm == urlOfPage) {
			// Asynchronous: an error handler that ends a span would wait for this call.
			l.reporter.Report(fmt.Errorf("spanprof: the application name %q cannot be part of a query "+
				"and is left out of profile URLs: set another one by WithAppName", app))
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
	})
}

// appendAttributes appends the URL attributes of span.
func (l *links) appendAttributes(kv []attribute.KeyValue, span any, to linkedSpan) []attribute.KeyValue {
	l.prepare(span)
	var all strings.Builder // one allocation for all
	common := len(l.config.url) + len(l.selector)
	room := common + len(l.grafana) + 110 // 110 and 270 for constant parts, times and the id
	query := ""
	if l.config.baselineURL {
		query = l.baselineQuery(to)
		room += 2 * (common + 2*len(query) + 270)
	}
	all.Grow(room)
	l.writeProfileURL(&all, to)
	profile := all.Len()
	if profile > 0 {
		kv = append(kv, attribute.String(attributeProfileURL, all.String()))
	}
	if l.config.baselineURL {
		l.writeComparison(&all, "/comparison?query=", query, to)
		baseline := all.Len()
		l.writeComparison(&all, "/comparison-diff?query=", query, to)
		kv = append(kv, attribute.String(attributeBaselineURL, all.String()[profile:baseline]),
			attribute.String(attributeDiffURL, all.String()[baseline:]))
	}
	return kv
}

// writeProfileURL writes the value of attributeProfileURL, nothing if there is none.
func (l *links) writeProfileURL(b *strings.Builder, to linkedSpan) {
	switch {
	case !l.config.profileURL:
	case l.config.urlForm == urlByBuilder:
		b.WriteString(l.build(to.id))
	case l.config.urlForm == urlOfGrafana:
		b.WriteString(l.grafana)
		writeInt(b, "&from=", to.start.Add(-windowReach).UnixMilli())
		writeInt(b, "&to=", to.end.Add(windowReach+time.Millisecond-1).UnixMilli()) // rounded up
		b.WriteString("&explorationType=flame-graph&var-spanSelector=")
		b.WriteString(to.id)
	default:
		b.WriteString(l.config.url)
		b.WriteString("/?query=")
		l.writeByID(b, to.id)
		writeInt(b, "&from=", to.start.UnixNano())
		writeInt(b, "&until=", to.end.UnixNano())
	}
}

// writeComparison writes the URL of a comparison on our page: the baseline is on the left,
// the span on the right.
func (l *links) writeComparison(b *strings.Builder, path, baseline string, to linkedSpan) {
	from, start, end := to.start.Add(-baselineReach).UnixNano(), to.start.UnixNano(), to.end.UnixNano()
	b.WriteString(l.config.url)
	b.WriteString(path)
	b.WriteString(baseline)
	writeInt(b, "&from=", from)
	writeInt(b, "&until=", end)
	b.WriteString("&leftQuery=")
	b.WriteString(baseline)
	writeInt(b, "&leftFrom=", from)
	writeInt(b, "&leftUntil=", end)
	b.WriteString("&rightQuery=")
	l.writeByID(b, to.id)
	writeInt(b, "&rightFrom=", start)
	writeInt(b, "&rightUntil=", end)
}

// writeByID writes the escaped query of a span's profile.
func (l *links) writeByID(b *strings.Builder, id string) {
	b.WriteString(l.selector)
	b.WriteString(LabelProfileID + "%3D%22")
	b.WriteString(id)
	b.WriteString("%22%7D")
}

func writeInt(b *strings.Builder, key string, n int64) {
	var digits [20]byte
	b.WriteString(key)
	b.Write(strconv.AppendInt(digits[:0], n, 10))
}

// build calls the program's builder. Its failures must not affect the span.
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
		l.refuse(errNotUTF8)
		return ""
	}
	return built
}

func (l *links) refuse(err error) {
	l.refused.Do(func() {
		l.reporter.Report(fmt.Errorf("spanprof: a span got no %s from the function of WithProfileURLBuilder, "+
			"further ones are not reported: %w", attributeProfileURL, err))
	})
}

// baselineQuery returns the escaped query of the span's baseline: its labels except
// for the ids, and the configured ones.
func (l *links) baselineQuery(to linkedSpan) string {
	if to.user == nil {
		if query, ok := l.baselines.Load(to.name); ok {
			return query.(string)
		}
	}
	var selectors strings.Builder
	add := func(key, value string) bool {
		// The configuration takes precedence.
		if _, ok := l.config.baselineLabels[key]; !ok {
			writeSelector(&selectors, key, value)
		}
		return true
	}
	switch {
	case to.user != nil:
		pprof.ForLabels(to.user, func(key, value string) bool {
			return spanlabels.IsOwn(key) && key != LabelSpanName || add(key, value)
		})
	case to.name != "":
		add(LabelSpanName, to.name)
	}
	query := l.selector + url.QueryEscape(selectors.String())
	if selectors.Len() > 0 && l.extra != "" {
		query += "%2C"
	}
	query += l.extra + "%7D"
	if to.user == nil {
		l.baselines.Store(to.name, query)
	}
	return query
}

// writeSelector writes a label that a query can name. Without the others the baseline is
// a wider one, with them the query would be an error.
func writeSelector(b *strings.Builder, key, value string) {
	if key == "" || strings.ContainsAny(key, "=!~,{}\"`") || strings.ContainsFunc(key, unicode.IsSpace) {
		return
	}
	if b.Len() > 0 {
		b.WriteByte(',')
	}
	b.WriteString(key)
	b.WriteByte('=')
	b.WriteString(strconv.Quote(value))
}

// serviceName returns the name of the span's service. For a span without a readable
// resource it is the name in the environment, "" if absent there too.
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
