// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"

	"go.opentelemetry.io/otel"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
	"github.com/spanprof/spanprof/exporter/otlp/internal/otlpenv"
)

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
	if c.target == "" {
		return c, errors.New("the endpoint is empty: want a host and port, as in localhost:4317")
	}
	return c, nil
}

// fromEnvironment returns what holds where no option says otherwise.
func fromEnvironment() config {
	env, err := otlpenv.Read()
	if err != nil {
		otel.Handle(fmt.Errorf("otlpgrpc: environment: %w", err))
	}
	c := config{
		target:   "localhost:4317",
		insecure: env.Insecure,
		headers:  env.Headers,
		tls:      env.TLS,
		gzip:     env.Compression != "none",
	}
	if env.Endpoint != nil {
		c = c.withURL(env.Endpoint)
	}
	if env.Timeout > 0 {
		c.queue = []exporter.QueueOption{exporter.WithTimeout(env.Timeout)}
	}
	return c
}

// withURL reads an endpoint as OTLP's specification has it. What is no URL of
// HTTP's is a target of gRPC's.
func (c config) withURL(u *url.URL) config {
	switch u.Scheme {
	case "http", "https":
		c.target, c.insecure = u.Host, u.Scheme == "http"
	case "unix":
		c.target, c.insecure = u.String(), true
	default:
		c.target = u.String()
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
	opts := []grpc.DialOption{grpc.WithUserAgent("spanprof"), grpc.WithTransportCredentials(creds)}
	if c.gzip {
		opts = append(opts, grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	}
	return append(opts, c.dial...)
}
