// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/env"
)

const (
	defaultMaxNames     = 256
	defaultMaxNameBytes = 128
)

// Scope selects the spans with labels of their own.
type Scope uint

const (
	// ScopeNone leaves the label out.
	ScopeNone Scope = iota
	// ScopeRootSpan labels the work of a local root and of all its
	// descendants with the local root's value.
	ScopeRootSpan
	// ScopeAllSpans labels the work of every span with its own value.
	ScopeAllSpans
)

// Option configures a TracerProvider. A nil Option does nothing.
type Option interface{ apply(c *config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	idScope, nameScope Scope

	appName        string
	url            string // the address of our page
	profileURL     bool
	urlForm        urlForm
	urlBuilder     func(id string) string
	grafana        string // its address
	dataSource     string // escaped
	baselineURL    bool
	baselineLabels map[string]string
	noProfileID    bool

	maxNames     int
	maxNameBytes int

	unsampledNames bool
	optIn          bool
	disabled       bool
}

// urlForm is the form of a span's profile URL.
type urlForm uint8

const (
	urlOfPage urlForm = iota // at the address of WithPyroscopeURL
	urlOfGrafana
	urlByBuilder
)

// WithAppName sets the application's name in profile URLs. The default is
// service.name of the spans' resource.
func WithAppName(name string) Option {
	return optionFunc(func(c *config) { c.appName = name })
}

// WithPyroscopeURL sets the address that profile URLs begin with: the page of package
// inprocess, "spanprof view" over a Pyroscope server, or a Pyroscope server before 1.0. Later
// servers ignore such URLs: use [WithGrafanaProfileURL].
func WithPyroscopeURL(addr string) Option {
	return optionFunc(func(c *config) { c.url = strings.TrimRight(addr, "/") })
}

// WithRootSpanOnly sets both scopes. True is the default, ScopeRootSpan; false is
// ScopeAllSpans. Names that are switched off stay so. [WithSpanIDLabelScope] and
// [WithSpanNameLabelScope] after it set one.
func WithRootSpanOnly(rootOnly bool) Option {
	scope := ScopeAllSpans
	if rootOnly {
		scope = ScopeRootSpan
	}
	return optionFunc(func(c *config) {
		c.idScope = scope
		if c.nameScope != ScopeNone {
			c.nameScope = scope
		}
	})
}

// WithAddSpanName switches the label with the span's name on or off, by default on.
// The number of names is bounded, see [WithSpanNameLimit].
func WithAddSpanName(add bool) Option {
	return optionFunc(func(c *config) {
		switch {
		case !add:
			c.nameScope = ScopeNone
		case c.nameScope == ScopeNone:
			c.nameScope = max(c.idScope, ScopeRootSpan)
		}
	})
}

// WithSpanNameLabelScope sets which spans have labels with their own names. The default
// is ScopeRootSpan.
func WithSpanNameLabelScope(s Scope) Option {
	return optionFunc(func(c *config) { c.nameScope = s })
}

// WithSpanIDLabelScope sets which spans have labels with their own ids. The default is
// ScopeRootSpan. With ScopeNone there are no ids and so no profiles of spans; trace ids
// stay.
func WithSpanIDLabelScope(s Scope) Option {
	return optionFunc(func(c *config) { c.idScope = s })
}

// WithProfileURL sets whether spans get the attribute pyroscope.profile.url, by default
// not. It needs an address by [WithPyroscopeURL], unless [WithGrafanaProfileURL] or
// [WithProfileURLBuilder] makes the URL.
func WithProfileURL(add bool) Option {
	return optionFunc(func(c *config) { c.profileURL = add })
}

// WithGrafanaProfileURL makes the attribute pyroscope.profile.url a link to the span's
// CPU profile in Grafana Profiles Drilldown. addr is Grafana's address, dataSource the uid
// of its Pyroscope data source. The service's name in Pyroscope must be service.name of the
// spans' resource, or the name of [WithAppName]. The form of the link is that in links.ts
// of https://github.com/grafana/profiles-drilldown.
//
// Of several options for the form of the URL the last one counts.
func WithGrafanaProfileURL(addr, dataSource string) Option {
	return optionFunc(func(c *config) {
		c.profileURL, c.urlForm = true, urlOfGrafana
		c.grafana, c.dataSource = strings.TrimRight(addr, "/"), url.QueryEscape(dataSource)
	})
}

// WithProfileURLBuilder makes the attribute pyroscope.profile.url by a function of the
// profile id. build must be safe for concurrent use. End calls it for each span with a
// profile of its own, and waits for it. So do [NewSpanExporter] at the export, and a handler
// of [NewLogHandler] with [WithLogLinks] for each record.
//
// There is no URL if build panics, returns "" or returns what is not UTF-8. The first time
// is reported through otel.Handle.
func WithProfileURLBuilder(build func(id string) string) Option {
	return optionFunc(func(c *config) { c.profileURL, c.urlForm, c.urlBuilder = true, urlByBuilder, build })
}

// WithDefaultProfileURLBuilder is short for [WithPyroscopeURL], [WithAppName] and
// [WithProfileURL](true).
func WithDefaultProfileURLBuilder(addr, app string) Option {
	return optionFunc(func(c *config) {
		c.profileURL, c.urlForm, c.url, c.appName = true, urlOfPage, strings.TrimRight(addr, "/"), app
	})
}

// DefaultProfileURLBuilder returns a function for [WithProfileURLBuilder]. Its URLs
// equal those by [WithDefaultProfileURLBuilder], without the times.
func DefaultProfileURLBuilder(addr, app string) func(id string) string {
	head := strings.TrimRight(addr, "/") + "/?query=" + url.QueryEscape(app+".cpu{"+LabelProfileID+"=\"")
	return func(id string) string { return head + url.QueryEscape(id) + "%22%7D" }
}

// WithProfileBaselineURL sets whether spans get the attributes
// pyroscope.profile.baseline.url and pyroscope.profile.diff.url, by default not. They need
// [WithPyroscopeURL].
func WithProfileBaselineURL(add bool) Option {
	return optionFunc(func(c *config) { c.baselineURL = add })
}

// WithProfileBaselineLabels adds labels to the query of the baseline, such as labels that a
// profiler adds to each upload. An empty value removes that label of the span's samples from
// the query.
func WithProfileBaselineLabels(labels map[string]string) Option {
	labels = maps.Clone(labels)
	return optionFunc(func(c *config) { c.baselineLabels = labels })
}

// WithSpanNameLimit bounds the number of values of [LabelSpanName] in the life of the
// provider, and their length in bytes. The default is 256 names of 128 bytes. Longer names
// are cut between two runes. Further names get the label "other". Each new name copies
// the list of names: keep the number below some thousands.
//
// A name counts when a span starts with it, even if SetName changes it at once: start
// spans by the name of their kind, not by a path with ids in it.
func WithSpanNameLimit(names, bytes int) Option {
	return optionFunc(func(c *config) { c.maxNames, c.maxNameBytes = names, bytes })
}

// WithoutProfileIDAttribute leaves out the attribute [AttributeProfileID], which costs a span
// 110 to 450 ns. The page of package inprocess still finds all spans, by their own ids. At
// the export [NewSpanExporter] adds it.
func WithoutProfileIDAttribute() Option {
	return optionFunc(func(c *config) { c.noProfileID = true })
}

// WithUnsampledSpanNames puts [LabelSpanName], and no other label, on local roots that
// are not sampled. CPU profiles by span name then stay whole under head sampling. By
// default such spans have no labels. With names they cost about as much as
// sampled ones.
func WithUnsampledSpanNames() Option {
	return optionFunc(func(c *config) { c.unsampledNames = true })
}

// WithOptIn labels no span unless the environment has SPANPROF_ENABLED=true. By default
// spans are labelled unless it has OTEL_SDK_DISABLED=true or SPANPROF_DISABLED=true, and both
// take precedence. Packages inprocess, profiler and exectrace have the same option.
func WithOptIn() Option {
	return optionFunc(func(c *config) { c.optIn = true })
}

// newConfig applies opts to the defaults. Options that cannot work are reported and
// left out: the constructors return no error, because those that programs migrate from
// return none.
func newConfig(opts []Option) config {
	c := config{
		idScope:      ScopeRootSpan,
		nameScope:    ScopeRootSpan,
		maxNames:     defaultMaxNames,
		maxNameBytes: defaultMaxNameBytes,
	}
	for _, o := range opts {
		if o != nil {
			o.apply(&c)
		}
	}
	c.disabled = env.Off(c.optIn)
	if c.maxNames < 1 || c.maxNameBytes < 1 {
		otel.Handle(fmt.Errorf("spanprof: WithSpanNameLimit(%d, %d): want at least 1 each; using %d and %d",
			c.maxNames, c.maxNameBytes, defaultMaxNames, defaultMaxNameBytes))
		c.maxNames, c.maxNameBytes = defaultMaxNames, defaultMaxNameBytes
	}
	c.idScope = knownScope("WithSpanIDLabelScope", c.idScope)
	c.nameScope = knownScope("WithSpanNameLabelScope", c.nameScope)
	c.settleURLs()
	return c
}

func knownScope(option string, s Scope) Scope {
	if s > ScopeAllSpans {
		otel.Handle(fmt.Errorf("spanprof: %s(%d): no such scope; using ScopeRootSpan", option, s))
		return ScopeRootSpan
	}
	return s
}

// settleURLs switches off the URLs that cannot work, and reports why.
func (c *config) settleURLs() {
	if (c.profileURL || c.baselineURL) && c.idScope == ScopeNone {
		otel.Handle(errors.New("spanprof: spans get no profile URLs: with ScopeNone for span ids spans have no profiles"))
		c.profileURL, c.baselineURL = false, false
	}
	if c.profileURL {
		if err := c.checkProfileURL(); err != nil {
			otel.Handle(fmt.Errorf("spanprof: spans get no %s: %w", attributeProfileURL, err))
			c.profileURL = false
			c.baselineURL = c.baselineURL && c.urlForm != urlOfPage // reported already
		}
	}
	if c.baselineURL {
		if err := checkAddress("WithPyroscopeURL", c.url); err != nil {
			otel.Handle(fmt.Errorf("spanprof: spans get no %s: %w", attributeBaselineURL, err))
			c.baselineURL = false
		}
	}
}

func (c *config) checkProfileURL() error {
	switch {
	case c.urlForm == urlByBuilder && c.urlBuilder == nil:
		return errors.New("WithProfileURLBuilder(nil): want a function that makes the URL for a profile id")
	case c.urlForm == urlByBuilder:
		return nil
	case c.urlForm == urlOfPage:
		return checkAddress("WithPyroscopeURL", c.url)
	case c.dataSource == "":
		return errors.New("WithGrafanaProfileURL: want the uid of a Pyroscope data source of Grafana")
	default:
		return checkAddress("WithGrafanaProfileURL", c.grafana)
	}
}

// checkAddress returns an error if addr cannot be followed by a path.
func checkAddress(option, addr string) error {
	u, err := url.Parse(addr)
	switch {
	case addr == "":
		return errors.New("no address; set one by " + option)
	case !utf8.ValidString(addr):
		return fmt.Errorf("%s: %w", option, errNotUTF8)
	case err != nil:
		// Without the URL, which may have a password in it.
		if parsing, ok := errors.AsType[*url.Error](err); ok {
			err = parsing.Err
		}
		return fmt.Errorf("%s: %w", option, err)
	case u.User != nil:
		return fmt.Errorf("%s: the address has a user in it, which all spans would show; leave it out", option)
	case u.Scheme == "" || u.Host == "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("%s: want an address such as http://localhost:4040 or "+
			"http://localhost:8080/debug/spanprof, without query and fragment", option)
	}
	return nil
}
