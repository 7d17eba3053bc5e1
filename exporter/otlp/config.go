// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
	"github.com/spanprof/spanprof/exporter/otlp/internal/otlpenv"
)

// profilesPath is where OTLP/HTTP takes profiles, under the base URL.
const profilesPath = "/v1development/profiles"

type config struct {
	url         *url.URL // never changed, only replaced
	err         error    // of the endpoint that an option gave
	headers     map[string]string
	compression Compression
	tls         *tls.Config
	tlsByOption bool
	proxy       func(*http.Request) (*url.URL, error)
	client      *http.Client
	ownClient   bool // an option has given the client
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
	switch u := c.url; {
	case c.err != nil:
		return c, c.err
	case u.Scheme == "http" && c.tlsByOption && c.client == nil:
		return c, fmt.Errorf("endpoint %s is without TLS, but WithTLSClientConfig is given: use https, or leave one out", nameOf(u))
	case c.ownClient && c.client == nil:
		return c, errors.New("WithHTTPClient(nil): want a client, or leave the option out")
	case c.compression != GzipCompression && c.compression != NoCompression:
		return c, fmt.Errorf("WithCompression(%d): want GzipCompression or NoCompression", c.compression)
	}
	for name, value := range c.headers {
		if err := otlpenv.CheckHeader(name, value); err != nil {
			return c, err
		}
	}
	return c, nil
}

// fromEnvironment returns what holds where no option says otherwise.
func fromEnvironment() config {
	env, err := otlpenv.Read()
	c := config{
		url:     &url.URL{Scheme: "https", Host: "localhost:4318", Path: profilesPath},
		headers: env.Headers,
		tls:     env.TLS,
		proxy:   http.ProxyFromEnvironment,
	}
	if env.Insecure {
		c.url.Scheme = "http"
	}
	if env.Endpoint != "" {
		if u, urlErr := otlpenv.ParseURL(env.Endpoint); urlErr != nil {
			err = errors.Join(err, fmt.Errorf("%s is ignored: %w", env.EndpointKey, urlErr))
		} else {
			c.url = endpointURL(u, env.ForProfiles)
		}
	}
	if env.Compression == "none" {
		c.compression = NoCompression
	}
	if env.Timeout > 0 {
		c.queue = []exporter.QueueOption{exporter.WithTimeout(env.Timeout)}
	}
	if err != nil {
		otel.Handle(fmt.Errorf("otlp: environment: %w", err))
	}
	return c
}
