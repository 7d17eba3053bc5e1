// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"io"
	"mime"
	"net/http"
)

// exchange is the transport of one request, which notes the answer's type and
// turns the Status that OTLP/HTTP answers errors with into its text.
type exchange struct {
	base        http.RoundTripper
	contentType string // of the answer
}

func (e *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := e.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	e.contentType, _, _ = mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode/100 != 2 && e.isProtobuf() {
		response.Body = &statusBody{ReadCloser: response.Body}
	}
	return response, nil
}

func (e *exchange) isProtobuf() bool { return e.contentType == "application/x-protobuf" }

func (e *exchange) isJSON() bool { return e.contentType == "application/json" }

// maxStatus is how much is read of a Status.
const maxStatus = 64 << 10

// statusBody reads as the text of the Status that a body is.
type statusBody struct {
	io.ReadCloser
	text *bytes.Reader // nil before the first Read
}

func (b *statusBody) Read(p []byte) (int, error) {
	if b.text == nil {
		// What has arrived counts, whatever has happened then.
		body, _ := io.ReadAll(io.LimitReader(b.ReadCloser, maxStatus))
		b.text = bytes.NewReader(statusText(body))
	}
	return b.text.Read(p)
}
