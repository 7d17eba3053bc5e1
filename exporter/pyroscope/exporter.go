// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

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
	labels   labels
	said     struct{ foreignID, labels, split sync.Once } // guard what is reported once
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
	e := &Exporter{labels: labels{tags: c.tags}}
	d := &destination{ingest: u.JoinPath("ingest"), config: c}
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
	parts := e.prepare(p)       //nolint:contextcheck // what it reports outlives the call
	r := e.tagged(p.Resource()) //nolint:contextcheck // as above
	var errs []error
	for _, part := range parts {
		if r != p.Resource() {
			part = withResource(part, r)
		}
		errs = append(errs, e.queue.Export(ctx, part))
	}
	return errors.Join(errs...)
}

// prepare returns profiles that the server takes in place of p: p itself as a rule,
// and where it is not for us to judge what the server makes of it.
func (e *Exporter) prepare(p *exporter.Profile) []*exporter.Profile {
	parsed, err := p.Parsed()
	if err != nil || parsed.CheckValid() != nil {
		return []*exporter.Profile{p}
	}
	if id, ok := foreignID(parsed); ok {
		e.said.foreignID.Do(func() {
			e.reporter.Report(fmt.Errorf("pyroscope: profile_id %q cannot be queried in Pyroscope: only ids of 16 hex digits can (this is said once)", id))
		})
	}
	if fitted := e.labels.fit(parsed); fitted != parsed {
		e.said.labels.Do(func() {
			e.reporter.Report(fmt.Errorf("pyroscope: labels of a %s profile are changed, or the server would refuse it: it takes %d together with the tags, values of %d bytes, and names of letters, digits, underscores and dots (this is said once)", p.Kind(), maxTags, maxTagValue))
		})
		p = exporter.NewParsedProfile(windowOf(p), fitted)
		parsed = fitted
	}
	parts := parts(p, parsed)
	if len(parts) > 1 {
		e.said.split.Do(func() {
			e.reporter.Report(fmt.Errorf("pyroscope: a %s profile of %d samples was split into %d: the server takes %d samples and %d bytes at once (this is said once)", p.Kind(), len(parsed.Sample), len(parts), maxSamples, maxSize))
		})
	}
	return parts
}

// tagged returns r, without the attributes that cannot be tags: the Queue may keep
// it for another process, which does not know how many labels the profiles have.
func (e *Exporter) tagged(r *resource.Resource) *resource.Resource {
	_, _, left := seriesTags(r, e.labels.tags, e.labels.room())
	if len(left) == 0 {
		return r
	}
	if e.labels.isMore(len(left)) {
		e.reporter.Report(fmt.Errorf("pyroscope: %d attribute(s) of the resource are not sent as tags, %s for one: the server takes %d together with the labels of samples, their names have to differ with underscores for dots, and service_name and __* are its own (this is said again only if there are more)", len(left), left[0], maxTags))
	}
	kept := slices.DeleteFunc(r.Attributes(), func(kv attribute.KeyValue) bool { return slices.Contains(left, kv.Key) })
	return resource.NewWithAttributes(r.SchemaURL(), kept...)
}

// withResource returns p with another resource.
func withResource(p *exporter.Profile, r *resource.Resource) *exporter.Profile {
	w := windowOf(p)
	w.Resource = r
	data, err := p.Pprof()
	if err != nil {
		return p // it fails in the queue, which counts it
	}
	return exporter.NewProfile(w, data)
}

func windowOf(p *exporter.Profile) exporter.Window {
	return exporter.Window{Kind: p.Kind(), Start: p.Start(), Duration: p.Duration(), Resource: p.Resource()}
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
