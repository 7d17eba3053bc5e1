// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// backend is a healthy server of OTLP/HTTP, as a handler or without a network.
type backend struct {
	t      *testing.T
	answer answerFunc // instead of a success, if not nil

	mu       sync.Mutex
	requests []*http.Request
	messages []*collectorpb.ExportProfilesServiceRequest
}

type answerFunc = func(w http.ResponseWriter, r *http.Request)

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.requests = append(b.requests, r)
	b.mu.Unlock()
	if b.answer != nil {
		b.answer(w, r)
		return
	}
	b.receive(r)
	answer(w, new(collectorpb.ExportProfilesServiceResponse))
}

func (b *backend) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w.Result(), nil
}

func (b *backend) receive(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		b.t.Error(err)
	}
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			b.t.Error(err)
			return
		}
		if body, err = io.ReadAll(z); err != nil {
			b.t.Error(err)
		}
	}
	m := new(collectorpb.ExportProfilesServiceRequest)
	if err := proto.Unmarshal(body, m); err != nil {
		b.t.Error(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.messages = append(b.messages, m)
}

// received returns the requests, and the messages of successful ones.
func (b *backend) received() (requests []*http.Request, messages []*collectorpb.ExportProfilesServiceRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests, b.messages
}

func answer(w http.ResponseWriter, m *collectorpb.ExportProfilesServiceResponse) {
	body, _ := proto.Marshal(m)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(body)
}

// status returns an answer to any request.
func status(code int, body string, header ...string) answerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}
