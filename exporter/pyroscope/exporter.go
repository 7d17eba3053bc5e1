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
	"sync"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/handoff"
	"github.com/spanprof/spanprof/internal/httpsend"
)

var _ exporter.Exporter = (*Exporter)(nil)

// Exporter sends profiles to one Pyroscope server. It is safe for concurrent use
// and must be shut down: it holds a goroutine from New on.
type Exporter struct {
	queue    *exporter.Queue
	reporter handoff.Reporter
	foreign  sync.Once // guards the report of a profile_id that cannot be queried
}

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
	e := new(Exporter)
	d := &destination{ingest: u.JoinPath("ingest"), config: c, reporter: &e.reporter}
	if c.client != nil {
		d.client = httpsend.WithoutRedirects(c.client)
	} else {
		d.transport = httpsend.NewTransport()
		d.client = httpsend.WithoutRedirects(&http.Client{Transport: d.transport})
	}
	e.queue, err = exporter.NewQueue("pyroscope", d, c.queue...)
	if err != nil {
		return nil, err
	}
	return e, nil
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

// Export takes p over and returns at once. It returns exporter.ErrShutdown after
// Shutdown, and an error if p, or a part of it, is larger than the queue.
func (e *Exporter) Export(ctx context.Context, p *exporter.Profile) error {
	if p == nil {
		return e.queue.Export(ctx, nil)
	}
	parsed, err := p.Parsed()
	if err != nil {
		// Not for us to judge: the server says what it makes of it.
		return e.queue.Export(ctx, p)
	}
	if id, ok := foreignID(parsed); ok {
		e.foreign.Do(func() { //nolint:contextcheck // the report outlives the call
			e.reporter.Report(fmt.Errorf("pyroscope: profile_id %q cannot be queried in Pyroscope: only ids of 16 hex digits can (this is said once)", id))
		})
	}
	parts, err := split(p, parsed)
	if err != nil {
		// As above: a profile that contradicts itself, say.
		return e.queue.Export(ctx, p)
	}
	var errs []error
	for _, part := range parts {
		errs = append(errs, e.queue.Export(ctx, part))
	}
	return errors.Join(errs...)
}

// ForceFlush returns after everything that Export took has been delivered or
// dropped; see exporter.Queue.
func (e *Exporter) ForceFlush(ctx context.Context) error { return e.queue.ForceFlush(ctx) }

// Shutdown sends what it can until ctx ends; see exporter.Queue.
func (e *Exporter) Shutdown(ctx context.Context) error {
	err := e.queue.Shutdown(ctx)
	e.reporter.Wait(ctx)
	return err
}

// Stats returns what became of the profiles. One that was split counts as
// several.
func (e *Exporter) Stats() exporter.QueueStats { return e.queue.Stats() }
