// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package settings has the configuration of the OTLP exporters: options, and environment
// variables as OpenTelemetry's specification defines them for the other signals. Variables for
// profiles, OTEL_EXPORTER_OTLP_PROFILES_*, replace variables for all signals.
package settings

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/internal/convert"
	"github.com/spanprof/spanprof/internal/httpsend"
)

// Config is the configuration of an exporter.
type Config struct {
	// Endpoint is the server, and EndpointKey the environment variable that sets it;
	// empty if an option does. ForProfiles is set if it is for profiles only, so that its
	// path is complete.
	Endpoint, EndpointKey string
	ForProfiles           bool
	// Insecure is whether connections to an endpoint without a scheme have no TLS.
	Insecure bool
	Headers  map[string]string
	// HeadersFromEnvironment is set unless an option has replaced the headers.
	HeadersFromEnvironment bool
	// NoGzip is whether messages are sent without compression.
	NoGzip bool
	// TLS has the certificates of the environment; nil if there are none.
	TLS *tls.Config

	Queue   exporter.QueueConfig
	Convert convert.Config
	// Client is for HTTP, Dial for gRPC: a slice of its options.
	Client *http.Client
	Dial   any
	// Err is an invalid option.
	Err error
}

// Option changes a Config.
type Option interface{ Apply(c *Config) }

// OptionFunc is a function as an Option.
type OptionFunc func(c *Config)

// Apply calls f.
func (f OptionFunc) Apply(c *Config) { f(c) }

const (
	prefix         = "OTEL_EXPORTER_OTLP_"
	profilesPrefix = prefix + "PROFILES_"
)

// New returns the configuration from the environment and options. An unusable value of the
// environment counts as unset, as the specification demands: unusable has them all.
// The protocol decides whether the endpoint is usable.
func New[O Option](opts []O) (c Config, unusable, err error) {
	c, unusable = read()
	for _, o := range opts {
		if any(o) != nil {
			o.Apply(&c)
		}
	}
	if c.Convert.Series != nil {
		c.Convert.SpanIDAttributes = false
	}
	if c.Queue.Timeout == 0 {
		c.Queue.Timeout, err = timeout()
		unusable = errors.Join(unusable, err)
	}
	return c, unusable, c.Err
}

func read() (c Config, err error) {
	var errs []error
	c.HeadersFromEnvironment = true
	c.EndpointKey, c.Endpoint = lookup("ENDPOINT")
	c.ForProfiles = strings.HasPrefix(c.EndpointKey, profilesPrefix)
	if _, value := lookup("INSECURE"); value != "" {
		c.Insecure = strings.EqualFold(value, "true")
	}
	if key, value := lookup("HEADERS"); value != "" {
		if c.Headers, err = parseHeaders(value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	switch key, value := lookup("COMPRESSION"); value {
	case "", "gzip":
	case "none":
		c.NoGzip = true
	default:
		errs = append(errs, fmt.Errorf("%s is ignored: %q: want gzip or none", key, value))
	}
	if c.TLS, err = certificates(); err != nil {
		errs = append(errs, err)
	}
	return c, errors.Join(errs...)
}

func timeout() (time.Duration, error) {
	key, value := lookup("TIMEOUT")
	if value == "" {
		return 0, nil
	}
	ms, err := strconv.ParseUint(value, 10, 31)
	if err != nil || ms == 0 {
		return 0, fmt.Errorf("%s is ignored: %q is no number of milliseconds above 0", key, value)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// lookup returns the variable that takes precedence, and its value.
func lookup(name string) (key, value string) {
	key = profilesPrefix + name
	if value = strings.TrimSpace(os.Getenv(key)); value != "" {
		return key, value
	}
	key = prefix + name
	return key, strings.TrimSpace(os.Getenv(key))
}

// parseHeaders reads key=value pairs separated by commas, with values in
// percent-encoding, as in W3C Baggage. It returns the valid ones even if others are
// invalid. Errors do not contain values, which may be secrets.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	var errs []error
	for i, pair := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !ok || !httpsend.IsToken(key) {
			errs = append(errs, fmt.Errorf("header %d is ignored: want key=value", i+1))
			continue
		}
		value, err := url.PathUnescape(value)
		if err != nil {
			errs = append(errs, fmt.Errorf("header %s is ignored: percent-encoding is wrong", key))
			continue
		}
		value = strings.TrimSpace(value)
		if err := httpsend.CheckHeader(key, value); err != nil {
			errs = append(errs, fmt.Errorf("%w: it is ignored", err))
			continue
		}
		headers[key] = value
	}
	return headers, errors.Join(errs...)
}

// ParseURL returns an HTTP URL. The error contains no part of the text, which may have a
// password.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("want http or https and a host, as in http://localhost:4318, with percent-encoding for special characters")
	}
	return u, nil
}
