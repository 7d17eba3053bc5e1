// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc

import (
	"errors"
	"strings"

	"github.com/spanprof/spanprof/exporter/otlp/internal/otlpenv"
)

var errNoTarget = errors.New("want a host and port, as in localhost:4317, or a target of gRPC's with a scheme, as in unix:///run/collector.sock; credentials go into WithHeaders")

// withEndpoint reads an endpoint of the environment as OTLP's specification has
// it. What is no URL of HTTP's is a target of gRPC's, as it stands: net/url
// would take the host of otel_collector:4317 for a scheme.
func (c config) withEndpoint(text string) (config, error) {
	if isHTTP(text) {
		u, err := otlpenv.ParseURL(text)
		if err != nil {
			return c, err
		}
		c.target, c.insecure = u.Host, strings.EqualFold(u.Scheme, "http")
		return c, nil
	}
	if err := checkTarget(text); err != nil {
		return c, err
	}
	c.target = text
	if isUnix(text) {
		c.insecure = true
	}
	return c, nil
}

// checkTarget returns an error for what never works as a target, though gRPC
// takes it. It leaves the text out: there may be a password in it.
func checkTarget(target string) error {
	switch {
	case isHTTP(target):
		return errors.New("want a host and port, as in localhost:4317, not a URL; WithInsecure says that it is without TLS")
	case isUnix(target):
		return nil
	case target == "" || strings.Contains(target, "@") || strings.Contains(target, "/") && !strings.Contains(target, ":/"):
		return errNoTarget
	}
	return nil
}

func isHTTP(target string) bool {
	scheme, _, ok := strings.Cut(target, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// isUnix knows unix:path, unix:///path and unix-abstract:name.
func isUnix(target string) bool {
	return strings.HasPrefix(target, "unix:") || strings.HasPrefix(target, "unix-abstract:")
}
