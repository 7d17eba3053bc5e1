// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc

import (
	"maps"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
)

// Option configures New. A nil Option does nothing.
type Option interface {
	apply(config) config
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

// WithEndpoint sets the server, a host and port or another target of gRPC's. The
// default is localhost:4317. New refuses a URL of HTTP's.
func WithEndpoint(target string) Option {
	return optionFunc(func(c config) config {
		c.target = target
		return c
	})
}

// WithInsecure connects without TLS.
func WithInsecure() Option {
	return optionFunc(func(c config) config {
		c.insecure, c.credentials = true, nil
		return c
	})
}

// WithTLSCredentials sets the certificates of the connection, instead of those
// of the system or the environment.
func WithTLSCredentials(t credentials.TransportCredentials) Option {
	return optionFunc(func(c config) config {
		c.insecure, c.credentials = false, t
		return c
	})
}

// WithHeaders adds metadata to every request, like authorization. It replaces
// that of the environment. New refuses what gRPC cannot send, like a line's end.
func WithHeaders(headers map[string]string) Option {
	headers = maps.Clone(headers)
	return optionFunc(func(c config) config {
		c.headers = headers
		return c
	})
}

// WithDialOptions adds options of gRPC's, which go before those that New makes
// of the others. A stats handler of otelgrpc makes a span of every export.
// grpc.WithKeepaliveParams replaces the pings by which a connection that has
// become silent is found: 30 s after the last frame, while a call waits, with
// 20 s for the answer.
func WithDialOptions(opts ...grpc.DialOption) Option {
	opts = slices.Clone(opts)
	return optionFunc(func(c config) config {
		c.dial = append(slices.Clip(c.dial), opts...)
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
