// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
)

const (
	httpPath      = "/v1development/profiles"
	protobufType  = "application/x-protobuf"
	versionHeader = "OTLP-Profiles-Development-Version"
)

// Handler takes OTLP/HTTP, in protobuf, at /v1development/profiles. Host headers that
// are not loopback names are refused, unless [WithAllowedHosts] has them: a web page
// could send profiles otherwise.
func (r *Receiver) Handler() http.Handler {
	mux := http.NewServeMux()
	messages := make(chan struct{}, maxConnections)
	mux.HandleFunc("POST "+httpPath, func(w http.ResponseWriter, req *http.Request) {
		if !r.allowed(req.Host) {
			http.Error(w, "this Host is not allowed here", http.StatusForbidden)
			return
		}
		select {
		case messages <- struct{}{}:
			defer func() { <-messages }()
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many messages at once", http.StatusTooManyRequests)
			return
		}
		m, status, err := read(w, req)
		if err == nil {
			if err = r.take(req.Context(), req.RemoteAddr, m); err != nil {
				status = http.StatusBadRequest
			}
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		w.Header().Set("Content-Type", protobufType) // and an empty body: an empty response
	})
	return mux
}

// read returns the message of a request, or an error and its status.
func read(w http.ResponseWriter, req *http.Request) (*collectorpb.ExportProfilesServiceRequest, int, error) {
	if v := req.Header.Get(versionHeader); v != "" && v != "1" {
		return nil, http.StatusBadRequest, errors.New(versionHeader + " is not 1")
	}
	if t, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || t != protobufType {
		return nil, http.StatusUnsupportedMediaType, errors.New("the content type is not " + protobufType)
	}
	var body io.Reader = http.MaxBytesReader(w, req.Body, maxMessage)
	switch req.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, http.StatusBadRequest, err
		}
		body = unzipped
	default:
		return nil, http.StatusUnsupportedMediaType, errors.New("the content encoding is not gzip")
	}
	b, err := io.ReadAll(io.LimitReader(body, maxMessage+1))
	if tooLarge := new(http.MaxBytesError); len(b) > maxMessage || errors.As(err, &tooLarge) {
		return nil, http.StatusRequestEntityTooLarge, errors.New("the message is too large")
	}
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	m := new(collectorpb.ExportProfilesServiceRequest)
	if err := unmarshal(b, m); err != nil {
		return nil, http.StatusBadRequest, err
	}
	return m, http.StatusOK, nil
}

// allowed reports whether a Host header is a loopback name, or one of the options.
func (r *Receiver) allowed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(r.hosts, func(h string) bool { return h == "*" || strings.EqualFold(h, name) })
}
