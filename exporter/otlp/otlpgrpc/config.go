// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"time"

	"go.opentelemetry.io/otel"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
	"github.com/spanprof/spanprof/exporter/otlp/internal/otlpenv"
)

// keepAlive finds a connection that has become silent, which nothing else would
// replace. It is gone after a minute or so of the ten that a profile may wait:
// Time after the last frame, or with the next call if that is later, a ping is
// sent, which has Timeout. A ping without a call would be refused by servers of
// gRPC's; of those with one, they take three in 5 minutes between two answers.
// From one that takes fewer, gRPC learns to send them more rarely.
var keepAlive = keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}

// maxHeader is how much is read of the header of an answer, of which gRPC would
// keep 16 MiB.
const maxHeader = 64 << 10

type config struct {
	target      string
	insecure    bool
	credentials credentials.TransportCredentials
	tls         *tls.Config // of the environment
	gzip        bool
	headers     map[string]string
	dial        []grpc.DialOption
	conversion  []convert.Option
	queue       []exporter.QueueOption
}

func newConfig(opts []Option) (config, error) {
	c := fromEnvironment()
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	if err := checkTarget(c.target); err != nil {
		return c, fmt.Errorf("WithEndpoint: %w", err)
	}
	for key, value := range c.headers {
		if err := checkMetadata(key, value); err != nil {
			return c, err
		}
	}
	return c, nil
}

// fromEnvironment returns what holds where no option says otherwise.
func fromEnvironment() config {
	env, err := otlpenv.Read()
	c := config{
		target:   "localhost:4317",
		insecure: env.Insecure,
		headers:  env.Headers,
		tls:      env.TLS,
		gzip:     env.Compression != "none",
	}
	if env.Endpoint != "" {
		var unusable error
		if c, unusable = c.withEndpoint(env.Endpoint); unusable != nil {
			err = errors.Join(err, fmt.Errorf("%s is ignored: %w", env.EndpointKey, unusable))
		}
	}
	maps.DeleteFunc(c.headers, func(key, value string) bool {
		impossible := checkMetadata(key, value)
		if impossible != nil {
			err = errors.Join(err, fmt.Errorf("%w: it is ignored", impossible))
		}
		return impossible != nil
	})
	if env.Timeout > 0 {
		c.queue = []exporter.QueueOption{exporter.WithTimeout(env.Timeout)}
	}
	if err != nil {
		otel.Handle(fmt.Errorf("otlpgrpc: environment: %w", err))
	}
	return c
}

// dialOptions returns those for gRPC; the user's are last, and override.
func (c config) dialOptions() []grpc.DialOption {
	creds := c.credentials
	switch {
	case creds != nil:
	case c.insecure:
		creds = insecure.NewCredentials()
	default:
		creds = credentials.NewTLS(c.tls)
	}
	opts := []grpc.DialOption{
		grpc.WithUserAgent("spanprof"),
		grpc.WithTransportCredentials(creds),
		grpc.WithKeepaliveParams(keepAlive),
		grpc.WithMaxHeaderListSize(maxHeader),
	}
	if c.gzip {
		opts = append(opts, grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	}
	return append(opts, c.dial...)
}
