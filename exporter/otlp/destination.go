// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
	"github.com/spanprof/spanprof/exporter/otlp/internal/partial"
	"github.com/spanprof/spanprof/exporter/otlp/internal/parts"
	"github.com/spanprof/spanprof/internal/httpsend"
	"github.com/spanprof/spanprof/internal/servertext"
)

var _ exporter.Destination = (*destination)(nil)

// destination makes a request for each profile.
type destination struct {
	config config
	parts.Splitter
	client   *http.Client
	close    func() // ends the connections that are its own
	warnings partial.Warnings
}

func newDestination(c config, converter *convert.Converter) *destination {
	d := &destination{config: c, client: c.client, close: func() {}, Splitter: parts.Splitter{Name: "otlp", Converter: converter}}
	if d.client == nil {
		transport := httpsend.NewTransport()
		transport.Proxy = c.proxy
		if c.tls != nil {
			transport.TLSClientConfig = c.tls
		}
		// The queue sets the deadline of every attempt.
		d.client, d.close = &http.Client{Transport: transport}, transport.CloseIdleConnections
	}
	d.client = httpsend.WithoutRedirects(d.client)
	return d
}

// Send makes one attempt.
func (d *destination) Send(ctx context.Context, p *exporter.Profile) error {
	message, err := d.Converter.Request(p)
	if err != nil {
		return err
	}
	request, err := d.request(ctx, message)
	if err != nil {
		return err
	}
	answer, err := httpsend.Do(d.client, request, httpsend.Protocol{Retryable: retryable, Text: errorText})
	if err != nil {
		return err
	}
	response := new(collectorpb.ExportProfilesServiceResponse)
	switch err := proto.Unmarshal(answer.Body, response); {
	case err == nil:
		clean := servertext.NewRedactor(request.Header, request.URL).Clean
		return d.warnings.Check("otlp: "+nameOf(d.config.url), response, clean)
	case answer.Type == protobufType || answer.Type == "application/json":
		return nil // cut off, or in a form that says no more than the status does
	default: // a page to log in, perhaps
		return answer.NotLike("OTLP")
	}
}

// Shutdown ends the idle connections.
func (d *destination) Shutdown(ctx context.Context) error {
	d.close()
	d.warnings.Wait(ctx)
	d.Reporter.Wait(ctx)
	return nil
}

func (d *destination) request(ctx context.Context, message *collectorpb.ExportProfilesServiceRequest) (*http.Request, error) {
	body, err := proto.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("otlp: encode profile: %w", err)
	}
	if d.config.compression == GzipCompression {
		body = gzipped(body)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.config.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	r.Header.Set("User-Agent", "spanprof")
	for k, v := range d.config.headers {
		r.Header.Set(k, v)
	}
	r.Header.Set("Content-Type", protobufType)
	r.Header.Set(versionHeader, "1")
	if d.config.compression == GzipCompression {
		r.Header.Set("Content-Encoding", "gzip")
	}
	return r, nil
}

// versionHeader says which state of the signal's development the message is in.
// A Collector since 0.164 refuses others by it.
const versionHeader = "OTLP-Profiles-Development-Version"

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	// A bytes.Buffer takes everything.
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

// retryable lists the statuses of which OTLP says so.
func retryable(status int, _ []byte) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}
