// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/httpsend"
	"github.com/spanprof/spanprof/internal/report"
)

var _ exporter.Destination = (*destination)(nil)

// destination pushes one profile to /ingest.
type destination struct {
	ingest    *url.URL
	config    config
	client    *http.Client
	transport *http.Transport // nil if the client is the user's
	reporter  report.Reporter
	leftOut   sync.Once // guards the report of attributes that cannot be tags
	foreign   sync.Once // guards that of a profile_id that cannot be queried
}

// Send makes one request.
func (d *destination) Send(ctx context.Context, p *exporter.Profile) error {
	r, err := d.request(ctx, p)
	if err != nil {
		return err
	}
	limited := false
	_, err = httpsend.Do(d.client, r, func(status int, body []byte) bool {
		limited = isRateLimit(status, body)
		return limited || retryable(status, body)
	})
	if retry, ok := errors.AsType[*exporter.RetryError](err); ok && limited {
		retry.Refused = true
	}
	return err
}

// Split cuts p into parts that the server takes. To see its samples it parses every
// profile.
func (d *destination) Split(p *exporter.Profile) ([]*exporter.Profile, error) {
	parsed, err := p.Parsed()
	if err != nil {
		return nil, err
	}
	if id, ok := foreignID(parsed); ok {
		d.foreign.Do(func() {
			d.reporter.Report(fmt.Errorf("pyroscope: profile_id %q cannot be queried in Pyroscope: only ids of 16 hex digits can (this is said once)", id))
		})
	}
	return split(p, parsed)
}

// Shutdown closes the connections, unless they are the user's.
func (d *destination) Shutdown(ctx context.Context) error {
	if d.transport != nil {
		d.transport.CloseIdleConnections()
	}
	d.reporter.Wait(ctx)
	return nil
}

func (d *destination) request(ctx context.Context, p *exporter.Profile) (*http.Request, error) {
	pprof, err := p.Pprof()
	if err != nil {
		return nil, err
	}
	f := formOf(p.Kind())
	body, contentType, err := multipartBody(pprof, f.sampleTypes)
	if err != nil {
		return nil, err
	}
	name, left := seriesName(p.Resource(), d.config.tags)
	if left > 0 {
		d.leftOut.Do(func() { //nolint:contextcheck // the report outlives the call
			d.reporter.Report(fmt.Errorf("pyroscope: %d attribute(s) of the resource are not sent as tags: the server takes %d, their names have to differ with underscores for dots, and service_name and __* are its own (this is said once)", left, maxTags))
		})
	}

	// Without a format: "pprof" would say that the body is not multipart.
	u := *d.ingest
	q := url.Values{}
	q.Set("name", name)
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
	if d.config.tenant != "" {
		r.Header.Set("X-Scope-OrgID", d.config.tenant)
	}
	switch {
	case d.config.basic:
		r.SetBasicAuth(d.config.user, d.config.password)
	case d.config.bearer != "":
		r.Header.Set("Authorization", "Bearer "+d.config.bearer)
	}
	return r, nil
}

// multipartBody returns the form that /ingest reads.
func multipartBody(pprof []byte, types map[string]sampleType) (body *bytes.Reader, contentType string, err error) {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	add := func(field, file string, data []byte) error {
		w, err := form.CreateFormFile(field, file)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	if err := add("profile", "profile.pprof", pprof); err != nil {
		return nil, "", err
	}
	if types != nil {
		config, err := json.Marshal(types)
		if err != nil {
			return nil, "", err
		}
		if err := add("sample_type_config", "sample_type_config.json", config); err != nil {
			return nil, "", err
		}
	}
	if err := form.Close(); err != nil {
		return nil, "", err
	}
	return bytes.NewReader(b.Bytes()), form.FormDataContentType(), nil
}

// serverTrouble is what the server's text has where a 422 says that one part of
// it did not reach another: gRPC status codes and the ring of ingesters.
var serverTrouble = []string{"code = Unavailable", "code = DeadlineExceeded", "code = Aborted", "live replicas required", "too many unhealthy instances"}

// isRateLimit reports whether a server before v2.2.0 answers what is a 429 since
// then (grafana/pyroscope#5372): a 422 with the name of a Connect code.
func isRateLimit(status int, body []byte) bool {
	return status == http.StatusUnprocessableEntity && bytes.Contains(body, []byte("resource_exhausted"))
}

// retryable reports whether an answer that is no success can become one.
func retryable(status int, body []byte) bool {
	switch {
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return true
	case status == http.StatusUnprocessableEntity:
		for _, text := range serverTrouble {
			if bytes.Contains(body, []byte(text)) {
				return true
			}
		}
	}
	return false
}
