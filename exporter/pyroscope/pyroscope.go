// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/series"
	"github.com/spanprof/spanprof/internal/httpsend"
)

// New returns an exporter for the Pyroscope server at address, its root: for
// example http://pyroscope:4040. It returns an error if address is not an HTTP
// URL or an option is invalid. It makes no request.
func New(address string, opts ...Option) (*exporter.Queue, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, fmt.Errorf("pyroscope: %w", err)
	}
	u, err := parseAddress(address)
	if err != nil {
		return nil, fmt.Errorf("pyroscope: %w", err)
	}
	d := &destination{ingest: u.JoinPath("ingest"), config: c, fitter: series.Fitter{Name: "pyroscope", Static: c.tags}}
	if c.client != nil {
		d.client = httpsend.WithoutRedirects(c.client)
	} else {
		d.transport = httpsend.NewTransport()
		d.client = httpsend.WithoutRedirects(&http.Client{Transport: d.transport})
	}
	return exporter.NewQueue("pyroscope", d, c.queue)
}

// parseAddress returns the root of a server. The errors contain no part of the
// address, which may have a password. An error of url.Parse would.
func parseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("address cannot be parsed: use one like http://localhost:4040, and WithBasicAuth for a password")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("address is not an HTTP URL: use one like http://localhost:4040")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("address has a query or a fragment: use the root of the server, like http://localhost:4040")
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/ingest"):
		return nil, errors.New("address ends in /ingest: use the root of the server, like http://localhost:4040")
	}
	return u, nil
}

// Option configures New. A nil Option does nothing.
type Option interface{ apply(c *config) }

type option func(*config)

func (f option) apply(c *config) { f(c) }

type config struct {
	tags           map[string]string
	basic          bool
	user, password string
	headers        map[string]string
	client         *http.Client
	clientSet      bool
	queue          exporter.QueueConfig
}

// WithTags adds tags to every profile. They replace attributes of the Resource with the same
// name. If there are too many labels for the server, tags stay. New refuses names other than
// letters, digits and underscores, values that /ingest cannot carry, and more than 24 tags.
func WithTags(tags map[string]string) Option {
	tags = maps.Clone(tags)
	return option(func(c *config) { c.tags = tags })
}

// WithBasicAuth authenticates by user and password. For Grafana Cloud these are
// the number of the stack and an access policy token. New refuses an empty user or
// password.
func WithBasicAuth(user, password string) Option {
	return option(func(c *config) { c.basic, c.user, c.password = true, user, password })
}

// WithHeaders adds HTTP headers to every request: X-Scope-OrgID for the tenant of a
// server with several, or Authorization for a bearer token. WithBasicAuth takes
// precedence.
func WithHeaders(headers map[string]string) Option {
	headers = maps.Clone(headers)
	return option(func(c *config) { c.headers = headers })
}

// WithHTTPClient sets the client, for example for its TLS configuration or its proxy.
// The default has a transport like http.DefaultTransport. Redirects are not
// followed, unless the client has a CheckRedirect. New refuses nil.
func WithHTTPClient(client *http.Client) Option {
	return option(func(c *config) { c.clientSet, c.client = true, client })
}

// WithQueue sets the bounds of the queue.
func WithQueue(q exporter.QueueConfig) Option {
	return option(func(c *config) { c.queue = q })
}

func newConfig(opts []Option) (config, error) {
	var c config
	for _, o := range opts {
		if o != nil {
			o.apply(&c)
		}
	}
	switch {
	case c.basic && (c.user == "" || c.password == ""):
		return c, errors.New("user or password is empty: set both, or leave WithBasicAuth out")
	case c.clientSet && c.client == nil:
		return c, errors.New("HTTP client is nil: leave WithHTTPClient out for the default")
	case len(c.tags) > series.MaxTags:
		return c, fmt.Errorf("%d tags are more than the server takes: use at most %d", len(c.tags), series.MaxTags)
	}
	for name, value := range c.tags {
		switch {
		case name != series.TagName(name) || strings.HasPrefix(name, "__"):
			return c, fmt.Errorf("tag name %q is not possible: use letters, digits and underscores, not two of them at the beginning", name)
		case name == "service_name":
			return c, errors.New("tag service_name is the service.name of the Resource: set it there")
		case value != series.TagValue(value) || value == "":
			return c, fmt.Errorf("value %q of tag %s is not possible: use up to %d bytes without , and } and without spaces around", value, name, series.MaxValue)
		}
	}
	for name, value := range c.headers {
		if err := httpsend.CheckHeader(name, value); err != nil {
			return c, err
		}
	}
	return c, nil
}
