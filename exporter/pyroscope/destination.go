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
	labels    labels
	reporter  report.Reporter
	said      struct{ foreignID, labels, split, unauthorized sync.Once } // guard what is reported once
}

// Send makes one request.
func (d *destination) Send(ctx context.Context, p *exporter.Profile) error {
	r, err := d.request(ctx, p)
	if err != nil {
		return err
	}
	limited, unauthorized := false, false
	answer, err := httpsend.Do(d.client, r, httpsend.Protocol{Retryable: func(status int, body []byte) bool {
		limited = isRateLimit(status, body)
		unauthorized = status == http.StatusUnauthorized
		return limited || retryable(status, body)
	}})
	switch {
	case err == nil && answer.IsPage():
		return answer.NotLike("Pyroscope")
	case unauthorized && !d.config.isIdentified():
		d.said.unauthorized.Do(func() {
			err = fmt.Errorf("%w (a server with several tenants wants WithTenantID; Grafana Cloud, or a proxy, WithBasicAuth; this is said once)", err)
		})
	}
	if retry, ok := errors.AsType[*exporter.RetryError](err); ok && limited {
		retry.Refused = true
	}
	return err
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
	// Without a format: "pprof" would say that the body is not multipart.
	u := *d.ingest
	q := url.Values{}
	q.Set("name", seriesName(p.Resource(), d.config.tags))
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
