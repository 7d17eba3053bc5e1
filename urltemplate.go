// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// urlTemplate is an address with values of a span between literal text.
type urlTemplate struct {
	parts []urlPart
	tail  string
	// room is enough for the address, except for what texts are longer than
	// textRoom.
	room int
}

// urlPart is literal text and the value that follows it.
type urlPart struct {
	literal string
	value   urlValue
}

// urlValue is a value of a span. For valueTime it is the start, or the end, moved by
// shift and counted in unit since 1970.
type urlValue struct {
	what  urlValueKind
	end   bool
	shift time.Duration
	unit  time.Duration
}

type urlValueKind uint8

const (
	valueSpanID urlValueKind = iota
	valueTraceID
	valueService
	valueSpanName
	valueTime
	// Times in nanoseconds, which our page's addresses have several times.
	valueStart
	valueEnd
	valueBaselineStart
	valueBaseline // a query
)

const (
	idLen, traceIDLen, nanosLen = 16, 32, 20
	textRoom                    = 48
)

// windowReach is how far a profile's window can reach beyond a span with samples
// in it, on each side. Profilers' windows last 10 to 15 s, and up to a minute where
// somebody set it.
const windowReach = time.Minute

// urlPlaceholders returns what a template of a program's can name.
func urlPlaceholders() map[string]urlValue {
	all := map[string]urlValue{
		"span_id":   {what: valueSpanID},
		"trace_id":  {what: valueTraceID},
		"service":   {what: valueService},
		"span_name": {what: valueSpanName},
	}
	for unit, length := range map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "ns": time.Nanosecond} {
		all["from_"+unit] = urlValue{what: valueTime, unit: length}
		all["to_"+unit] = urlValue{what: valueTime, unit: length, end: true}
		all["window_from_"+unit] = urlValue{what: valueTime, unit: length, shift: -windowReach}
		all["window_to_"+unit] = urlValue{what: valueTime, unit: length, end: true, shift: windowReach}
	}
	// The same, but as our own page's addresses have them: made once for all.
	all["from_ns"], all["to_ns"] = urlValue{what: valueStart}, urlValue{what: valueEnd}
	return all
}

// grafanaTemplate is the template of an address in Grafana Profiles Drilldown.
func grafanaTemplate(addr, dataSource string) string {
	addr = strings.NewReplacer("{", "%7B", "}", "%7D").Replace(strings.TrimRight(addr, "/"))
	return addr + "/a/grafana-pyroscope-app/explore" +
		"?var-dataSource=" + escape(dataSource) +
		"&var-serviceName={service}" +
		"&var-profileMetricId=process_cpu:cpu:nanoseconds:cpu:nanoseconds" +
		"&from={window_from_ms}&to={window_to_ms}" +
		"&explorationType=flame-graph&var-spanSelector={span_id}"
}

// parseURLTemplate reads the template of an option. Errors do not quote it: it may have
// a password in it.
func parseURLTemplate(option, text string) (*urlTemplate, error) {
	t, err := parsePlaceholders(text)
	if err == nil {
		err = t.checkAddress()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	return t, nil
}

func parsePlaceholders(text string) (*urlTemplate, error) {
	placeholders := urlPlaceholders()
	var t urlTemplate
	rest := text
	for {
		literal, after, found := strings.Cut(rest, "{")
		if at := strings.IndexByte(literal, '}'); at >= 0 {
			return nil, fmt.Errorf("byte %d is a } without {: write %%7D if the address has one", len(text)-len(rest)+at+1)
		}
		if !found {
			t.add(literal)
			return &t, nil
		}
		name, after, found := strings.Cut(after, "}")
		value, known := placeholders[name]
		switch {
		case !found:
			return nil, fmt.Errorf("byte %d is a { without }: write %%7B if the address has one", len(text)-len(rest)+len(literal)+1)
		case !known:
			return nil, fmt.Errorf("no placeholder {%s}: known are {%s}; write %%7B and %%7D if the address has braces",
				name, strings.Join(slices.Sorted(maps.Keys(placeholders)), "}, {"))
		}
		t.add(literal, value)
		rest = after
	}
}

// checkAddress sees whether the template makes addresses that can be opened.
func (t *urlTemplate) checkAddress() error {
	var sample strings.Builder
	t.bind("service").write(&sample, &linkTo{id: "0123456789abcdef", name: "name", traceID: strings.Repeat("0", traceIDLen)})
	u, err := url.Parse(sample.String())
	switch {
	case !utf8.ValidString(sample.String()):
		return errNotUTF8
	case err != nil:
		return withoutURL(err)
	case u.User != nil:
		return errUserInAddress
	case u.Scheme == "" || u.Host == "":
		return errNoAddress
	}
	return nil
}

// withoutURL returns what is wrong with a URL without the URL, which may have a password
// in it.
func withoutURL(err error) error {
	if in, ok := errors.AsType[*url.Error](err); ok {
		return in.Err
	}
	return err
}

// add appends literal text and the values that follow it.
func (t *urlTemplate) add(literal string, values ...urlValue) {
	t.tail += literal
	for _, v := range values {
		t.parts = append(t.parts, urlPart{literal: t.tail, value: v})
		t.tail = ""
	}
}

// has reports whether the template asks for a value.
func (t *urlTemplate) has(what urlValueKind) bool {
	return t != nil && slices.ContainsFunc(t.parts, func(p urlPart) bool { return p.value.what == what })
}

// bind returns the template with the service's name, which is the same for all spans,
// as literal text.
func (t *urlTemplate) bind(service string) *urlTemplate {
	bound := &urlTemplate{}
	for _, p := range t.parts {
		if p.value.what == valueService {
			bound.add(p.literal + escape(service))
			continue
		}
		bound.add(p.literal, p.value)
		bound.room += len(bound.parts[len(bound.parts)-1].literal) + p.value.room()
	}
	bound.add(t.tail)
	bound.room += len(bound.tail)
	return bound
}

func (v urlValue) room() int {
	switch v.what {
	case valueSpanID:
		return idLen
	case valueTraceID:
		return traceIDLen
	case valueSpanName, valueBaseline:
		return textRoom
	default:
		return nanosLen
	}
}

// write writes the address of a span.
func (t *urlTemplate) write(b *strings.Builder, to *linkTo) {
	for i := range t.parts {
		p := &t.parts[i]
		b.WriteString(p.literal)
		switch p.value.what {
		case valueSpanID:
			b.WriteString(to.id)
		case valueTraceID:
			b.WriteString(to.traceID)
		case valueSpanName:
			b.WriteString(to.name)
		case valueBaseline:
			b.WriteString(to.baseline)
		case valueStart:
			b.Write(to.startDigits.digits())
		case valueEnd:
			b.Write(to.endDigits.digits())
		case valueBaselineStart:
			b.Write(to.baselineDigits.digits())
		case valueTime:
			var digits [nanosLen]byte
			b.Write(strconv.AppendInt(digits[:0], p.value.time(to), 10))
		case valueService: // bind has made it literal text
		}
	}
	b.WriteString(t.tail)
}

// time returns the time in units since 1970. An end is rounded up: from and to hold
// the whole span.
func (v urlValue) time(to *linkTo) int64 {
	if v.end {
		return (to.end.UnixNano() + int64(v.shift+v.unit-1)) / int64(v.unit)
	}
	return (to.start.UnixNano() + int64(v.shift)) / int64(v.unit)
}

// escape makes text fit for any place in an address: a space is %20 in a path too,
// where + is a plus sign.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
