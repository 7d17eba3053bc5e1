// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/series"
	"github.com/spanprof/spanprof/exporter/internal/split"
	"github.com/spanprof/spanprof/internal/httpsend"
)

var _ exporter.Destination = (*destination)(nil)

// maxSize bounds the uncompressed form of a profile. The server never takes a push larger
// than -distributor.ingestion-burst-size-mb, half of -validation.max-profile-size-bytes.
// The difference is for the labels of the series, which count too.
const maxSize = 2<<20 - 128<<10

// destination pushes one profile to /ingest.
type destination struct {
	ingest    *url.URL
	config    config
	client    *http.Client
	transport *http.Transport // nil if the client is the user's
	fitter    series.Fitter
}

// Send makes one request.
func (d *destination) Send(ctx context.Context, p *exporter.Profile) error {
	r, err := d.request(ctx, d.fitter.Fit(p))
	if err != nil {
		return err
	}
	answer, err := httpsend.Do(d.client, r)
	if err == nil && answer.IsPage() {
		return answer.NotLike("Pyroscope")
	}
	return err
}

// Shutdown closes the connections, unless they are the user's.
func (d *destination) Shutdown(ctx context.Context) error {
	if d.transport != nil {
		d.transport.CloseIdleConnections()
	}
	d.fitter.Wait(ctx)
	return nil
}

func (d *destination) request(ctx context.Context, p *exporter.Profile) (*http.Request, error) {
	pprof, err := p.Pprof()
	if err != nil {
		return nil, err
	}
	if parsed, err := p.Parsed(); err == nil && len(parsed.Sample) > 1 && (len(parsed.Sample) > series.MaxSamples || split.UncompressedSize(pprof) > maxSize) {
		return nil, &exporter.RetryError{
			Err:      fmt.Errorf("pyroscope: %d samples in %d bytes are more than the server takes", len(parsed.Sample), split.UncompressedSize(pprof)),
			Refused:  true,
			TooLarge: true,
		}
	}
	f := formOf(p.Kind())
	body, contentType := multipartBody(pprof, f.sampleTypes)
	// The format stays unset: with "pprof" the body must not be multipart.
	u := *d.ingest
	q := url.Values{}
	q.Set("name", formatSeries(d.fitter.Tags(p.Resource())))
	q.Set("from", strconv.FormatInt(p.Start().UnixNano(), 10))
	q.Set("until", strconv.FormatInt(p.End().UnixNano(), 10))
	q.Set("spyName", "gospy")
	q.Set("sampleRate", strconv.Itoa(f.sampleRate))
	q.Set("units", f.units)
	q.Set("aggregationType", f.aggregation)
	u.RawQuery = q.Encode()

	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "spanprof")
	for name, value := range d.config.headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", contentType)
	if d.config.basic {
		r.SetBasicAuth(d.config.user, d.config.password)
	}
	return r, nil
}

// multipartBody returns the form that /ingest reads. A bytes.Buffer returns no errors.
func multipartBody(pprof []byte, types map[string]sampleType) (body *bytes.Reader, contentType string) {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	w, _ := form.CreateFormFile("profile", "profile.pprof")
	_, _ = w.Write(pprof)
	if types != nil {
		w, _ = form.CreateFormFile("sample_type_config", "sample_type_config.json")
		_ = json.NewEncoder(w).Encode(types)
	}
	_ = form.Close()
	return bytes.NewReader(b.Bytes()), form.FormDataContentType()
}
