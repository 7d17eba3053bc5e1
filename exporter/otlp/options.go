// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
	"github.com/spanprof/spanprof/exporter/otlp/internal/otlpenv"
)

// Option configures New. A nil Option does nothing.
type Option interface {
	apply(config) config
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

// Compression says how requests are compressed.
type Compression int

const (
	// GzipCompression is the default.
	GzipCompression Compression = iota
	// NoCompression sends requests as they are: several times as large.
	NoCompression
)

// WithEndpoint sets the host and port to which profiles go, under the path
// /v1development/profiles, as in collector.example.com:4318. The default is
// localhost:4318. New refuses a URL or a path.
func WithEndpoint(hostPort string) Option {
	return optionFunc(func(c config) config {
		if c.err = checkHostPort(hostPort); c.err != nil {
			c.err = fmt.Errorf("WithEndpoint: %w", c.err)
			return c
		}
		c.url = &url.URL{Scheme: c.url.Scheme, Host: hostPort, Path: profilesPath}
		return c
	})
}

// WithEndpointURL sets the whole URL, with the path, to which profiles go. New
// refuses one that is neither http nor https.
func WithEndpointURL(u string) Option {
	return optionFunc(func(c config) config {
		parsed, err := otlpenv.ParseURL(u)
		if err != nil {
			c.err = fmt.Errorf("WithEndpointURL: %w", err)
			return c
		}
		c.url, c.err = endpointURL(parsed, true), nil
		return c
	})
}

// WithInsecure sends by http instead of https. Of this option and
// WithEndpointURL, the last one decides.
func WithInsecure() Option {
	return optionFunc(func(c config) config {
		u := *c.url
		u.Scheme = "http"
		c.url = &u
		return c
	})
}

// WithHeaders adds headers to every request, like Authorization. They replace
// those of the environment. New refuses what HTTP does not allow in one, like a
// line's end.
func WithHeaders(headers map[string]string) Option {
	headers = maps.Clone(headers)
	return optionFunc(func(c config) config {
		c.headers = headers
		return c
	})
}

// WithCompression sets how requests are compressed.
func WithCompression(compression Compression) Option {
	return optionFunc(func(c config) config {
		c.compression = compression
		return c
	})
}

// WithTLSClientConfig sets the certificates of https. It replaces those of the
// environment. New refuses it together with an http endpoint.
func WithTLSClientConfig(t *tls.Config) Option {
	return optionFunc(func(c config) config {
		c.tls, c.tlsByOption = t.Clone(), true
		return c
	})
}

// WithProxy sets which proxy a request takes. The default is
// http.ProxyFromEnvironment.
func WithProxy(proxy func(*http.Request) (*url.URL, error)) Option {
	return optionFunc(func(c config) config {
		c.proxy = proxy
		return c
	})
}

// WithHTTPClient sets the client, which New leaves as it is. It takes the place
// of WithTLSClientConfig, WithProxy and the environment's certificates. A client
// with otelhttp's transport makes a span of every export. The one that New makes
// otherwise sends pings by HTTP/2 to find a connection that has become silent; to
// have yours do so, see http.HTTP2Config.
func WithHTTPClient(client *http.Client) Option {
	return optionFunc(func(c config) config {
		c.client, c.ownClient = client, true
		return c
	})
}

// WithConversion sets how profiles become OTLP: whether the ids of spans are
// Links or attributes, for example.
func WithConversion(opts ...convert.Option) Option {
	opts = slices.Clone(opts)
	return optionFunc(func(c config) config {
		c.conversion = append(slices.Clip(c.conversion), opts...)
		return c
	})
}

// WithQueue configures the queue: its bounds, the timeout of an attempt, a
// directory that the backlog survives in.
func WithQueue(opts ...exporter.QueueOption) Option {
	opts = slices.Clone(opts)
	return optionFunc(func(c config) config {
		c.queue = append(slices.Clip(c.queue), opts...)
		return c
	})
}
