// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/exporter"
)

// Option configures New. A nil Option does nothing.
type Option interface {
	apply(c config) config
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	tags           map[string]string
	basic          bool
	user, password string
	bearer         string
	bearerSet      bool
	tenant         string
	headers        map[string]string
	client         *http.Client
	clientSet      bool
	queue          []exporter.QueueOption
}

// WithTags adds tags to every profile; they go before attributes of the Resource
// that have the same name, and before labels of samples where there are more than
// the server takes. New refuses names other than letters, digits and
// underscores, values that /ingest cannot carry, and more than 24 tags.
func WithTags(tags map[string]string) Option {
	tags = maps.Clone(tags)
	return optionFunc(func(c config) config {
		c.tags = tags
		return c
	})
}

// WithBasicAuth authenticates by user and password; for Grafana Cloud these are
// the number of the stack and an access policy token. New refuses an empty user or
// password, and both WithBasicAuth and WithBearerToken.
func WithBasicAuth(user, password string) Option {
	return optionFunc(func(c config) config {
		c.basic, c.user, c.password = true, user, password
		return c
	})
}

// WithBearerToken authenticates by a token. New refuses an empty one.
func WithBearerToken(token string) Option {
	return optionFunc(func(c config) config {
		c.bearerSet, c.bearer = true, token
		return c
	})
}

// WithTenantID names the tenant of a server with several, in X-Scope-OrgID.
func WithTenantID(id string) Option {
	return optionFunc(func(c config) config {
		c.tenant = id
		return c
	})
}

// WithHeaders adds HTTP headers to every request. Those of the other options go
// before them.
func WithHeaders(headers map[string]string) Option {
	headers = maps.Clone(headers)
	return optionFunc(func(c config) config {
		c.headers = headers
		return c
	})
}

// WithHTTPClient sets the client, for its TLS configuration or its proxy, say.
// The default has a transport like http.DefaultTransport. A redirect is not
// followed, unless the client has a CheckRedirect. New refuses nil.
func WithHTTPClient(client *http.Client) Option {
	return optionFunc(func(c config) config {
		c.clientSet, c.client = true, client
		return c
	})
}

// WithQueue sets options of the queue: its bounds, the time for an attempt, the
// spill directory, the MeterProvider.
func WithQueue(opts ...exporter.QueueOption) Option {
	opts = slices.Clone(opts)
	return optionFunc(func(c config) config {
		c.queue = append(slices.Clip(c.queue), opts...)
		return c
	})
}

// isIdentified reports whether requests carry credentials, a tenant or headers.
func (c config) isIdentified() bool {
	return c.tenant != "" || c.basic || c.bearerSet || len(c.headers) > 0
}

func newConfig(opts []Option) (config, error) {
	var c config
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	switch {
	case c.basic && c.bearerSet:
		return c, errors.New("basic auth and a bearer token exclude each other: use one of WithBasicAuth and WithBearerToken")
	case c.basic && (c.user == "" || c.password == ""):
		return c, errors.New("user or password is empty: set both, or leave WithBasicAuth out")
	case c.bearerSet && c.bearer == "":
		return c, errors.New("bearer token is empty: set one, or leave WithBearerToken out")
	case c.clientSet && c.client == nil:
		return c, errors.New("HTTP client is nil: leave WithHTTPClient out for the default")
	case len(c.tags) > maxTags:
		return c, fmt.Errorf("%d tags are more than the server takes: use at most %d", len(c.tags), maxTags)
	}
	for name, value := range c.tags {
		switch {
		case name != tagName(name) || strings.HasPrefix(name, "__"):
			return c, fmt.Errorf("tag name %q is not possible: use letters, digits and underscores, not two of them at the beginning", name)
		case name == "service_name":
			return c, errors.New("tag service_name is the service.name of the Resource: set it there")
		case value != tagValue(value) || value == "":
			return c, fmt.Errorf("value %q of tag %s is not possible: use up to %d bytes without , and } and without spaces around", value, name, maxTagValue)
		}
	}
	for name, value := range c.headers {
		if !isToken(name) || strings.ContainsAny(value, "\r\n\x00") {
			return c, fmt.Errorf("header %q is not possible: use a name of letters, digits and dashes, and a value of one line", name)
		}
	}
	if strings.ContainsAny(c.tenant+c.bearer, "\r\n\x00") {
		return c, errors.New("tenant id or bearer token has more than one line")
	}
	return c, nil
}

// isToken reports whether s can be the name of a header (RFC 9110, 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
