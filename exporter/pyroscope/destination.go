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

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/split"
	"github.com/spanprof/spanprof/internal/httpsend"
	"github.com/spanprof/spanprof/internal/report"
)

var _ exporter.Destination = (*destination)(nil)

// The limits of a profile, by the server's defaults.
const (
	// maxSamples is -validation.max-profile-stacktrace-samples.
	maxSamples = 16_000
	// maxSize bounds the uncompressed form. The server never takes a push larger than
	// -distributor.ingestion-burst-size-mb, half of -validation.max-profile-size-bytes.
	// The difference is for the labels of the series, which count too.
	maxSize = 2<<20 - 128<<10
)

// destination pushes one profile to /ingest.
type destination struct {
	ingest    *url.URL
	config    config
	client    *http.Client
	transport *http.Transport // nil if the client is the user's
	labels    labels
	reporter  report.Reporter
	reported  struct{ foreignID, labels, unauthorized sync.Once } // guard reports
}

// Send makes one request.
func (d *destination) Send(ctx context.Context, p *exporter.Profile) error {
	p = d.fitted(p)
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
	case unauthorized && !d.config.basic && len(d.config.headers) == 0:
		d.reported.unauthorized.Do(func() {
			err = fmt.Errorf("%w (a server with several tenants needs the header X-Scope-OrgID, see WithHeaders; Grafana Cloud needs WithBasicAuth; reported once)", err)
		})
	}
	if retry, ok := errors.AsType[*exporter.RetryError](err); ok && limited {
		retry.Refused = true
	}
	return err
}

// fitted returns p with labels that the server takes: p itself as a rule. A profile
// that cannot be parsed is sent unchanged, and the server's answer is the error.
func (d *destination) fitted(p *exporter.Profile) *exporter.Profile {
	parsed, err := p.Parsed()
	if err != nil || parsed.CheckValid() != nil {
		return p
	}
	if id, ok := foreignID(parsed); ok {
		d.reported.foreignID.Do(func() {
			d.reporter.Report(fmt.Errorf("pyroscope: profile_id %q cannot be queried in Pyroscope: only ids of 16 hex digits can (reported once)", id))
		})
	}
	fitted, changed := d.labels.fit(parsed)
	if changed {
		d.reported.labels.Do(func() {
			d.reporter.Report(fmt.Errorf("pyroscope: labels of a %s profile are changed, because the server would refuse or hide them: it takes %d together with the tags, values of %d bytes, and shows names of letters, digits and underscores (reported once)", p.Kind(), maxTags, maxTagValue))
		})
	}
	if fitted == parsed {
		return p
	}
	return exporter.NewParsedProfile(exporter.Window{Kind: p.Kind(), Start: p.Start(), Duration: p.Duration(), Resource: p.Resource()}, fitted)
}

// seriesName returns the application and its tags for r. It reports attributes that
// cannot be tags, and again if there are more.
func (d *destination) seriesName(r *resource.Resource) string {
	app, tags, left := seriesTags(r, d.config.tags, d.labels.room())
	if len(left) > 0 && d.labels.isMore(len(left)) {
		d.reporter.Report(fmt.Errorf("pyroscope: %d attribute(s) of the resource are not sent as tags, for example %s: the server takes %d together with the labels of samples, names must differ with underscores for dots, and service_name and __* are reserved (reported again only if there are more)", len(left), left[0], maxTags))
	}
	return formatSeries(app, tags)
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
	if parsed, err := p.Parsed(); err == nil && len(parsed.Sample) > 1 && (len(parsed.Sample) > maxSamples || split.UncompressedSize(pprof) > maxSize) {
		return nil, &exporter.RetryError{
			Err:      fmt.Errorf("pyroscope: %d samples in %d bytes are more than the server takes", len(parsed.Sample), split.UncompressedSize(pprof)),
			Refused:  true,
			TooLarge: true,
		}
	}
	f := formOf(p.Kind())
	body, contentType, err := multipartBody(pprof, f.sampleTypes)
	if err != nil {
		return nil, err
	}
	// The format stays unset: with "pprof" the body must not be multipart.
	u := *d.ingest
	q := url.Values{}
	q.Set("name", d.seriesName(p.Resource()))
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

// serverTrouble lists texts of a 422 that means a failure inside the server: gRPC status
// codes and the ring of ingesters.
var serverTrouble = []string{"code = Unavailable", "code = DeadlineExceeded", "code = Aborted", "live replicas required", "too many unhealthy instances"}

// isRateLimit reports whether an answer is the rate limit of a server before v2.2.0: a 422
// with the name of a Connect code. It became a 429 then (grafana/pyroscope#5372).
func isRateLimit(status int, body []byte) bool {
	return status == http.StatusUnprocessableEntity && bytes.Contains(body, []byte("resource_exhausted"))
}

// retryable reports whether a failed request can succeed later.
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
