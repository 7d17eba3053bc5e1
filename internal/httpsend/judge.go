// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpsend

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// maxUnclear is how often a profile is sent to a server that answers 500 without a reason: a
// failure of a moment is over then, and a bug that the profile triggers must not last.
const maxUnclear = 5

// Codes of gRPC.
const (
	unknown           = 2
	resourceExhausted = 8
	internal          = 13
)

// retryable are the codes of gRPC that OTLP's specification lists as retryable. The names are
// Connect's, in JSON.
var retryable = map[string]uint32{
	"canceled": 1, "deadline_exceeded": 4, "aborted": 10, "out_of_range": 11, "unavailable": 14, "data_loss": 15,
}

// trouble lists texts of servers about their own state. Pyroscope has them in a 422 or a 500,
// with the names of gRPC's or Connect's codes. The last two are of its ring of ingesters.
var trouble = []string{
	"code = Unavailable", "code = DeadlineExceeded", "code = Aborted",
	"unavailable:", "deadline_exceeded:", "aborted:",
	"live replicas required", "too many unhealthy instances",
}

// Failure is an answer that is no success.
type Failure struct {
	// Status is HTTP's; 0 by gRPC.
	Status int
	// Code is gRPC's, or of a google.rpc.Status in the body; 0 if absent.
	Code uint32
	// Text is the server's.
	Text string
	// After is the pause that the server wants; 0 if it names none.
	After time.Duration
}

// Judge returns the error of an attempt that ended with f: an *exporter.RetryError around
// err if another attempt can succeed, or err itself.
func Judge(f Failure, err error) error {
	retry := &exporter.RetryError{Err: err, After: f.After}
	switch {
	case f.Status == http.StatusRequestEntityTooLarge,
		f.Code == resourceExhausted && strings.Contains(f.Text, "larger than max"): // grpc-go's
		retry.Refused, retry.TooLarge = true, true
	case f.Status == http.StatusTooManyRequests,
		f.Code == resourceExhausted && f.After > 0,
		// Pyroscope before v2.2.0 (grafana/pyroscope#5372).
		f.Status == http.StatusUnprocessableEntity && strings.Contains(f.Text, "resource_exhausted"):
		retry.Refused = true
	case f.Status == http.StatusRequestTimeout, f.Status == http.StatusBadGateway,
		f.Status == http.StatusServiceUnavailable, f.Status == http.StatusGatewayTimeout,
		(f.Status == 0 || f.Status >= 500) && isRetryable(f.Code),
		(f.Status == 0 || f.Status >= 500 || f.Status == http.StatusUnprocessableEntity) && isTrouble(f.Text):
	case f.Status == 0 && f.Code == resourceExhausted: // a rate, or a quota of a month
		retry.Refused, retry.MaxAttempts = true, maxUnclear
	case f.Status >= 500, f.Status == 0 && (f.Code == unknown || f.Code == internal):
		retry.MaxAttempts = maxUnclear
	default:
		return err
	}
	return retry
}

func isRetryable(code uint32) bool {
	return code > 0 && slices.Contains(slices.Collect(maps.Values(retryable)), code)
}

func isTrouble(text string) bool {
	return slices.ContainsFunc(trouble, func(t string) bool { return strings.Contains(text, t) })
}

// statusOf returns the code of a body that is a google.rpc.Status, in protobuf or JSON. The
// text for an error is the message if the body is protobuf, otherwise the body.
func statusOf(contentType string, body []byte) (code uint32, message string) {
	switch contentType {
	case "application/x-protobuf":
		if code, message, ok := parseStatus(body); ok && message != "" {
			return code, message
		}
	case "application/json":
		var s struct {
			Code any `json:"code"` // Connect's is a word
		}
		if json.Unmarshal(body, &s) == nil {
			if number, ok := s.Code.(float64); ok {
				return uint32(number), string(body)
			}
			return retryable[fmt.Sprint(s.Code)], string(body)
		}
	}
	return 0, string(body)
}

// parseStatus reads the two fields without a module of protobuf's.
func parseStatus(body []byte) (code uint32, message string, ok bool) {
	const (
		codeTag    = 1 << 3   // a varint
		messageTag = 2<<3 | 2 // a length and bytes
		detailsTag = 3<<3 | 2
	)
	for len(body) > 0 {
		tag := body[0]
		value, n := binary.Uvarint(body[1:])
		if n <= 0 {
			return 0, "", false
		}
		body = body[1+n:]
		switch {
		case tag == codeTag:
			code = uint32(value)
			continue
		case tag != messageTag && tag != detailsTag, value > uint64(len(body)):
			return 0, "", false
		case tag == messageTag:
			message = string(body[:value])
		}
		body = body[value:]
	}
	return code, message, true
}
