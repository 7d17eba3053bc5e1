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
	endpoint    string   // as an option gave it, for errors
	err         error    // of the endpoint
	headers     map[string]string
	compression Compression
	tls         *tls.Config
	tlsByOption bool
	proxy       func(*http.Request) (*url.URL, error)
	client      *http.Client
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
		return c, fmt.Errorf("endpoint: %w", c.err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return c, fmt.Errorf("endpoint %q: want http or https and a host, as in http://localhost:4318%s", c.endpoint, profilesPath)
	case u.Scheme == "http" && c.tlsByOption && c.client == nil:
		return c, fmt.Errorf("endpoint %s is without TLS, but WithTLSClientConfig is given: use https, or leave one out", u.Redacted())
	case c.compression != GzipCompression && c.compression != NoCompression:
		return c, fmt.Errorf("WithCompression(%d): want GzipCompression or NoCompression", c.compression)
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
	if u := env.Endpoint; u != nil {
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			err = errors.Join(err, fmt.Errorf("the endpoint %s is ignored: want a URL, as in http://localhost:4318", u.Redacted()))
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

// endpointURL completes an endpoint of all signals, and leaves that of profiles
// as it is, by OTLP's specification.
func endpointURL(u *url.URL, forProfiles bool) *url.URL {
	if !forProfiles {
		return u.JoinPath(profilesPath)
	}
	if u.Path == "" {
		return u.JoinPath("/")
	}
	return u
}
