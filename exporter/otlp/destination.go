// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/internal/convert"
	"github.com/spanprof/spanprof/exporter/otlp/internal/settings"
	"github.com/spanprof/spanprof/internal/httpsend"
	"github.com/spanprof/spanprof/internal/servertext"
	"github.com/spanprof/spanprof/internal/wire"
)

const (
	// protobufType is the content type of OTLP's messages.
	protobufType = "application/x-protobuf"
	// versionHeader is the state of the signal's development. A Collector since 0.164
	// refuses others.
	versionHeader = "OTLP-Profiles-Development-Version"
)

// destination makes a request for each profile.
type destination struct {
	config   settings.Config
	url      *url.URL
	client   *http.Client
	close    func() // ends the connections of its own client
	warnings convert.Warnings
}

func newDestination(c settings.Config, u *url.URL) *destination {
	d := &destination{config: c, url: u, client: c.Client, close: func() {}}
	if d.client == nil {
		transport := httpsend.NewTransport()
		if c.TLS != nil {
			transport.TLSClientConfig = c.TLS
		}
		// The queue sets the deadline of every attempt.
		d.client, d.close = &http.Client{Transport: transport}, transport.CloseIdleConnections
	}
	d.client = httpsend.WithoutRedirects(d.client)
	return d
}

// Send makes one attempt.
func (d *destination) Send(ctx context.Context, p *exporter.Profile) error {
	message, err := convert.Message(d.config.Convert, p)
	if err != nil || message == nil {
		return err
	}
	request, err := d.request(ctx, message)
	if err != nil {
		return err
	}
	answer, err := httpsend.Do(d.client, request)
	if err != nil {
		return err
	}
	response := new(collectorpb.ExportProfilesServiceResponse)
	switch err := proto.Unmarshal(answer.Body, response); {
	case err == nil:
		clean := servertext.NewRedactor(request.Header, request.URL).Clean
		// The name has no query and no user, which may be secrets.
		name := url.URL{Scheme: d.url.Scheme, Host: d.url.Host, Path: d.url.Path}
		return d.warnings.Check("otlp: "+name.String(), response, clean)
	case answer.Type == protobufType || answer.Type == "application/json":
		return nil // truncated, or in a form that adds nothing to the status
	default: // perhaps a login page
		return answer.NotLike("OTLP")
	}
}

// Shutdown ends the idle connections.
func (d *destination) Shutdown(ctx context.Context) error {
	d.close()
	d.warnings.Wait(ctx)
	d.config.Convert.Wait(ctx)
	return nil
}

func (d *destination) request(ctx context.Context, message *collectorpb.ExportProfilesServiceRequest) (*http.Request, error) {
	body, err := proto.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("otlp: encode profile: %w", err)
	}
	if !d.config.NoGzip {
		body, _ = wire.Gzipped(body) // into memory, which returns no errors
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	r.Header.Set("User-Agent", "spanprof")
	for k, v := range d.config.Headers {
		r.Header.Set(k, v)
	}
	r.Header.Set("Content-Type", protobufType)
	r.Header.Set(versionHeader, "1")
	if !d.config.NoGzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	return r, nil
}
