// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/httpsend"
)

var _ exporter.Exporter = (*Exporter)(nil)

// Exporter sends profiles to one Pyroscope server. It is safe for concurrent use
// and must be shut down: it holds a goroutine from New on.
type Exporter struct{ queue *exporter.Queue }

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
	q, err := exporter.NewQueue("pyroscope", d, queue...)
	if err != nil {
		return nil, err
	}
	return &Exporter{q}, nil
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

// Lane returns the queue that the profiles wait in: a profiler hands them to it.
func (e *Exporter) Lane() *exporter.Queue { return e.queue }

// Export takes p over and returns at once. It returns exporter.ErrShutdown after
// Shutdown, and an error if p, or a part of it, is larger than the queue.
func (e *Exporter) Export(ctx context.Context, p *exporter.Profile) error {
	return e.queue.Export(ctx, p)
}

// ForceFlush returns after everything that Export took has been delivered or
// dropped; see exporter.Queue.
func (e *Exporter) ForceFlush(ctx context.Context) error { return e.queue.ForceFlush(ctx) }

// Shutdown sends what it can until ctx ends; see exporter.Queue.
func (e *Exporter) Shutdown(ctx context.Context) error { return e.queue.Shutdown(ctx) }

// Stats returns what became of the profiles. One that was split counts as
// several.
func (e *Exporter) Stats() exporter.LaneStatus { return e.queue.Stats() }
