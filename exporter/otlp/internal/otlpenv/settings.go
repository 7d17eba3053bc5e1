// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpenv reads the environment variables of OTLP exporters, as
// OpenTelemetry's specification has them for the other signals: those of all
// signals, and those of profiles, OTEL_EXPORTER_OTLP_PROFILES_*, which go first.
package otlpenv

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	prefix         = "OTEL_EXPORTER_OTLP_"
	profilesPrefix = prefix + "PROFILES_"
)

// Settings are what the environment says. What it does not say is the zero
// value.
type Settings struct {
	// Endpoint is where profiles go, and EndpointKey the variable that says so.
	// ForProfiles says that it is of profiles alone, so that its path is
	// complete.
	Endpoint, EndpointKey string
	ForProfiles           bool
	// Insecure is whether connections without a scheme go without TLS.
	Insecure bool
	Headers  map[string]string
	Timeout  time.Duration
	// Compression is "gzip" or "none".
	Compression string
	// TLS holds the certificates; nil without any.
	TLS *tls.Config
}

// Read returns the settings. A value that cannot be used counts as not set, as
// the specification demands: the error says why, for all of them. Whether the
// endpoint can be used depends on the protocol.
func Read() (Settings, error) {
	var (
		s    Settings
		errs []error
	)
	use := func(name string, parse func(value string) error) {
		key, value := lookup(name)
		if value == "" {
			return
		}
		if err := parse(value); err != nil {
			errs = append(errs, fmt.Errorf("%s is ignored: %w", key, err))
		}
	}
	s.EndpointKey, s.Endpoint = lookup("ENDPOINT")
	s.ForProfiles = strings.HasPrefix(s.EndpointKey, profilesPrefix)
	use("INSECURE", func(value string) error {
		s.Insecure = strings.EqualFold(value, "true")
		return nil
	})
	if key, value := lookup("HEADERS"); value != "" {
		var err error
		if s.Headers, err = parseHeaders(value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	use("TIMEOUT", func(value string) error {
		ms, err := strconv.ParseUint(value, 10, 31)
		if err != nil || ms == 0 {
			return fmt.Errorf("%q is no number of milliseconds above 0", value)
		}
		s.Timeout = time.Duration(ms) * time.Millisecond
		return nil
	})
	use("COMPRESSION", func(value string) error {
		if value != "gzip" && value != "none" {
			return fmt.Errorf("%q is neither gzip nor none", value)
		}
		s.Compression = value
		return nil
	})
	var err error
	if s.TLS, err = certificates(); err != nil {
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}

// lookup returns the variable that decides, and its value.
func lookup(name string) (key, value string) {
	key = profilesPrefix + name
	if value = strings.TrimSpace(os.Getenv(key)); value != "" {
		return key, value
	}
	key = prefix + name
	return key, strings.TrimSpace(os.Getenv(key))
}
