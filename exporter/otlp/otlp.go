// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/series"
	"github.com/spanprof/spanprof/exporter/otlp/internal/settings"
	"github.com/spanprof/spanprof/internal/httpsend"
)

// profilesPath is OTLP/HTTP's path of profiles, under the base URL.
const profilesPath = "/v1development/profiles"

// New returns an exporter that sends profiles by OTLP/HTTP, by default to
// https://localhost:4318. It does not wait for a connection.
//
// The error is about an invalid option.
func New(opts ...Option) (*exporter.Queue, error) {
	c, unusable, err := settings.New(opts)
	if err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	u, err := endpointURL(c)
	if err != nil && c.EndpointKey == "" {
		return nil, fmt.Errorf("otlp: WithEndpointURL: %w", err)
	}
	if err != nil {
		unusable = errors.Join(unusable, fmt.Errorf("%s is ignored: %w", c.EndpointKey, err))
	}
	if unusable != nil {
		otel.Handle(fmt.Errorf("otlp: environment: %w", unusable))
	}
	for name, value := range c.Headers {
		if err := httpsend.CheckHeader(name, value); err != nil {
			return nil, fmt.Errorf("otlp: %w", err)
		}
	}
	if c.Dial != nil {
		return nil, errors.New("otlp: WithDialOptions is for gRPC: use otlpgrpc.New")
	}
	return exporter.NewQueue("otlp", newDestination(c, u), c.Queue)
}

// endpointURL returns the URL for profiles. It appends the path to an endpoint of all
// signals. With an error it is the default.
func endpointURL(c settings.Config) (*url.URL, error) {
	scheme := "https"
	if c.Insecure {
		scheme = "http"
	}
	standard := &url.URL{Scheme: scheme, Host: "localhost:4318", Path: profilesPath}
	if c.Endpoint == "" && !c.ForProfiles {
		return standard, nil
	}
	u, err := settings.ParseURL(c.Endpoint)
	switch {
	case err != nil:
		return standard, err
	case !c.ForProfiles:
		return u.JoinPath(profilesPath), nil
	case u.Path == "":
		return u.JoinPath("/"), nil
	}
	return u, nil
}

// Option configures New, and New of package otlpgrpc. A nil Option does nothing.
type Option interface {
	settings.Option
}

func option(f func(*settings.Config)) Option { return settings.OptionFunc(f) }

// WithEndpointURL sets the server. For HTTP it is the whole URL for profiles, with the
// path. New refuses other schemes than http and https. For gRPC see package otlpgrpc.
func WithEndpointURL(u string) Option {
	return option(func(c *settings.Config) { c.Endpoint, c.EndpointKey, c.ForProfiles = u, "", true })
}

// WithHeaders adds headers to every request, like Authorization. They replace
// headers from the environment. New refuses headers that the protocol does not allow.
func WithHeaders(headers map[string]string) Option {
	headers = maps.Clone(headers)
	return option(func(c *settings.Config) { c.Headers, c.HeadersFromEnvironment = headers, false })
}

// WithHTTPClient sets the client, for example for its TLS configuration or its proxy. It
// replaces the environment's certificates. The default client detects silent
// connections by pings of HTTP/2, see http.HTTP2Config. otlpgrpc.New refuses the
// option.
func WithHTTPClient(client *http.Client) Option {
	return option(func(c *settings.Config) {
		if c.Client = client; client == nil {
			c.Err = errors.New("WithHTTPClient(nil): want a client, or leave the option out")
		}
	})
}

// WithQueue sets the bounds of the queue. Its Timeout replaces the one from the environment.
func WithQueue(q exporter.QueueConfig) Option {
	return option(func(c *settings.Config) { c.Queue = q })
}

// WithSpanIDAttributes sends ids of spans as attributes of samples too, for backends that
// ignore Links, as Parca does. Messages become about half as large again.
func WithSpanIDAttributes() Option {
	return option(func(c *settings.Config) { c.Convert.SpanIDAttributes = true })
}

// WithPyroscope sends profiles as exporter/pyroscope pushes them, under the same series and
// nearly the same types: see the table in the package comment. Attributes of the resource
// become tags by the same rules, with at most 24 labels of up to 2,048 bytes. It replaces
// WithSpanIDAttributes, which Pyroscope would store twice. A Collector on the way takes part of
// this back, see the README.
func WithPyroscope() Option {
	return option(func(c *settings.Config) { c.Convert.Series = &series.Fitter{Name: "otlp"} })
}
