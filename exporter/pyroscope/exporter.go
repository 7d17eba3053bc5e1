// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/httpsend"
)

// Exporter is a Queue in front of one Pyroscope server. A profile that
// was split counts as several in its Stats.
type Exporter = exporter.Queue

// New returns a running Exporter for the server at address, its root: for
// example http://pyroscope:4040. It returns an error if address is not an HTTP
// URL or an option cannot be met; no request is made.
func New(address string, opts ...Option) (*Exporter, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, fmt.Errorf("pyroscope: %w", err)
	}
	u, err := parseAddress(address)
	if err != nil {
		return nil, fmt.Errorf("pyroscope: %w", err)
	}
	d := &destination{ingest: u.JoinPath("ingest"), config: c, labels: labels{tags: c.tags}}
	if c.client != nil {
		d.client = httpsend.WithoutRedirects(c.client)
	} else {
		d.transport = httpsend.NewTransport()
		d.client = httpsend.WithoutRedirects(&http.Client{Transport: d.transport})
	}
	// By default the server refuses what is older than an hour (reject_older_than).
	queue := append([]exporter.QueueOption{exporter.WithSpillMaxAge(time.Hour)}, c.queue...)
	return exporter.NewQueue("pyroscope", d, queue...)
}

// parseAddress returns the root of a server. The errors have nothing of the
// address: it may hold a password, and even url.Parse says parts of that where it
// has a character that must be escaped.
func parseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("address cannot be parsed: use one like http://localhost:4040, and WithBasicAuth for a password")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("address is not an HTTP URL: use one like http://localhost:4040")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("address has a query or a fragment: use the root of the server, like http://localhost:4040")
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/ingest"):
		return nil, errors.New("address ends in /ingest: use the root of the server, like http://localhost:4040")
	}
	return u, nil
}
