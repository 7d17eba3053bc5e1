// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/linkurl"
)

const (
	defaultMaxNames     = 256
	defaultMaxNameBytes = 128
)

type config struct {
	idScope, nameScope Scope

	appName        string
	url            string
	profileURL     bool
	urlForm        urlForm
	templateText   string
	urlTemplate    *linkurl.Template // templateText, parsed
	urlBuilder     func(id string) string
	grafana        string // its address
	dataSource     string
	baselineURL    bool
	baselineLabels map[string]string
	noProfileID    bool

	maxNames     int
	maxNameBytes int

	unsampledNames bool
	recordOnly     bool
	publicLabels   bool
	disabled       bool
	unknownRuntime func() error
}

// urlForm says how the profile URL of a span is made.
type urlForm uint8

const (
	urlOfPage    urlForm = iota // of our page at the address of WithPyroscopeURL
	urlOfGrafana                // by a template too, once the options are checked
	urlByTemplate
	urlByBuilder
)

// newConfig applies opts to the defaults. What cannot work is reported and
// left out: the signature that programs know has no error to return.
func newConfig(opts []Option) config {
	c := config{
		idScope:      ScopeRootSpan,
		nameScope:    ScopeRootSpan,
		maxNames:     defaultMaxNames,
		maxNameBytes: defaultMaxNameBytes,
		disabled:     env.Disabled(),

		unknownRuntime: goruntime.Unknown,
	}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	if c.maxNames < 1 {
		otel.Handle(fmt.Errorf("spanprof: WithMaxSpanNames(%d): want at least 1; using %d", c.maxNames, defaultMaxNames))
		c.maxNames = defaultMaxNames
	}
	if c.maxNameBytes < 1 {
		otel.Handle(fmt.Errorf("spanprof: WithMaxSpanNameLength(%d): want at least 1; using %d", c.maxNameBytes, defaultMaxNameBytes))
		c.maxNameBytes = defaultMaxNameBytes
	}
	c.idScope = knownScope("WithSpanIDLabelScope", c.idScope)
	c.nameScope = knownScope("WithSpanNameLabelScope", c.nameScope)
	c.settleURLs()
	c.url = strings.TrimRight(c.url, "/")
	return c
}

func knownScope(option string, s Scope) Scope {
	if s > ScopeAllSpans {
		otel.Handle(fmt.Errorf("spanprof: %s(%d): no such scope; using ScopeRootSpan", option, s))
		return ScopeRootSpan
	}
	return s
}

// settleURLs leaves out the URLs that cannot work, and says why.
func (c *config) settleURLs() {
	if (c.profileURL || c.baselineURL) && c.idScope == ScopeNone {
		otel.Handle(errors.New("spanprof: spans get no profile URLs: without span ids among the labels, by ScopeNone, spans have no profiles"))
		c.profileURL, c.baselineURL = false, false
	}
	ofPage := c.profileURL && c.urlForm == urlOfPage
	if c.baselineURL || ofPage {
		if err := linkurl.CheckAddress("WithPyroscopeURL", c.url); err != nil {
			lost := "profile URLs"
			if c.profileURL && !ofPage {
				lost = AttributeBaselineURL
			}
			otel.Handle(fmt.Errorf("spanprof: spans get no %s: %w", lost, err))
			c.baselineURL = false
			c.profileURL = c.profileURL && !ofPage
		}
	}
	if c.profileURL {
		if err := c.checkProfileURL(); err != nil {
			otel.Handle(fmt.Errorf("spanprof: spans get no %s: %w", AttributeProfileURL, err))
			c.profileURL = false
		}
	}
}

func (c *config) checkProfileURL() (err error) {
	switch c.urlForm {
	case urlOfGrafana:
		const option = "WithGrafanaProfileURL"
		if err := linkurl.CheckAddress(option, c.grafana); err != nil {
			return err
		}
		if c.dataSource == "" {
			return errors.New(option + ": want the uid of a Pyroscope data source of Grafana")
		}
		c.urlForm = urlByTemplate
		c.urlTemplate, err = linkurl.Parse(option, linkurl.Grafana(c.grafana, c.dataSource))
	case urlByTemplate:
		c.urlTemplate, err = linkurl.Parse("WithProfileURLTemplate", c.templateText)
	case urlByBuilder:
		if c.urlBuilder == nil {
			err = errors.New("WithProfileURLBuilder(nil): want a function that makes the URL for a profile id")
		}
	case urlOfPage: // settleURLs has checked the address
	}
	return err
}

// asksByQuery reports whether a URL has a query with the application's name in it.
func (c *config) asksByQuery() bool {
	return c.baselineURL || c.profileURL && c.urlForm == urlOfPage
}
