// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package linkurl makes the URLs of a span's profile out of templates.
//
// Start at Parse, for templates of the program, and at Template.Add, for those of our own
// page. Template.Write writes the URL of one span.
package linkurl

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Template is a URL with values of a span between literal text.
type Template struct {
	parts []part
	tail  string
	room  int
}

// part is literal text and the value that follows it.
type part struct {
	literal string
	value   value
}

// Grafana returns the template of a URL of Grafana Profiles Drilldown.
func Grafana(addr, dataSource string) string {
	addr = strings.NewReplacer("{", "%7B", "}", "%7D").Replace(strings.TrimRight(addr, "/"))
	return addr + "/a/grafana-pyroscope-app/explore" +
		"?var-dataSource=" + Escape(dataSource) +
		"&var-serviceName={service}" +
		"&var-profileMetricId=process_cpu:cpu:nanoseconds:cpu:nanoseconds" +
		"&from={window_from_ms}&to={window_to_ms}" +
		"&explorationType=flame-graph&var-spanSelector={span_id}"
}

// Parse reads a template with placeholders such as {span_id}. Errors begin with the name of
// the option that it was given to. They do not quote it, because it may have a password
// in it.
func Parse(option, text string) (*Template, error) {
	t, err := parsePlaceholders(text)
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	return t, nil
}

func parsePlaceholders(text string) (*Template, error) {
	known := placeholders()
	var t Template
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
		v, ok := known[name]
		switch {
		case !found:
			return nil, fmt.Errorf("byte %d is a { without }: write %%7B if the address has one", len(text)-len(rest)+len(literal)+1)
		case !ok:
			return nil, fmt.Errorf("no placeholder {%s}: known are {%s}; write %%7B and %%7D if the address has braces",
				name, strings.Join(slices.Sorted(maps.Keys(known)), "}, {"))
		}
		t.add(literal, v)
		rest = after
	}
}

// check reports why the URLs of the template could not be opened.
func (t *Template) check() error {
	var sample strings.Builder
	t.Bind("service").Write(&sample, &Span{ID: "0123456789abcdef", Name: "name", TraceID: strings.Repeat("0", traceIDLen)})
	u, err := url.Parse(sample.String())
	switch {
	case !utf8.ValidString(sample.String()):
		return ErrNotUTF8
	case err != nil:
		return withoutURL(err)
	case u.User != nil:
		return errUser
	case u.Scheme == "" || u.Host == "":
		return errNoAddress
	}
	return nil
}

// Add appends literal text and then the values.
func (t *Template) Add(literal string, values ...Kind) {
	t.add(literal)
	for _, k := range values {
		t.add("", value{what: k})
	}
}

func (t *Template) add(literal string, values ...value) {
	t.tail += literal
	for _, v := range values {
		t.parts = append(t.parts, part{literal: t.tail, value: v})
		t.tail = ""
	}
}

// Has reports whether the URLs have a value. The template may be nil.
func (t *Template) Has(what Kind) bool {
	return t != nil && slices.ContainsFunc(t.parts, func(p part) bool { return p.value.what == what })
}

// Bind returns the template with the service's name, which is the same for all spans,
// as literal text.
func (t *Template) Bind(service string) *Template {
	bound := &Template{}
	for _, p := range t.parts {
		if p.value.what == Service {
			bound.add(p.literal + Escape(service))
			continue
		}
		bound.add(p.literal, p.value)
		bound.room += len(bound.parts[len(bound.parts)-1].literal) + p.value.room()
	}
	bound.add(t.tail)
	bound.room += len(bound.tail)
	return bound
}

// Room returns how many bytes a URL of a bound template takes at most, except for names
// and baselines longer than 48.
func (t *Template) Room() int { return t.room }

// Escape makes text fit for any place in a URL: a space is %20 in a path too, where + is
// a plus sign.
func Escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
