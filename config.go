// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/internal/goruntime"
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
	if c.profileURL || c.baselineURL {
		if err := c.checkURLs(); err != nil {
			otel.Handle(fmt.Errorf("spanprof: spans get no profile URLs: %w", err))
			c.profileURL, c.baselineURL = false, false
		}
	}
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

func (c *config) checkURLs() error {
	if c.idScope == ScopeNone {
		return errors.New("without span ids among the labels, by ScopeNone, spans have no profiles")
	}
	return checkAddress(c.url)
}

func checkAddress(addr string) error {
	if addr == "" {
		return errors.New("no address; set one by WithPyroscopeURL")
	}
	u, err := url.Parse(addr)
	if err != nil {
		return fmt.Errorf("WithPyroscopeURL: %w", err)
	}
	if u.User != nil {
		return errors.New("WithPyroscopeURL: the address has a user in it, who would be in the attributes of all spans; leave it out")
	}
	if u.Scheme == "" || u.Host == "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return fmt.Errorf("WithPyroscopeURL(%q): want an address such as http://localhost:4040 or http://localhost:8080/debug/spanprof", addr)
	}
	return nil
}
