// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpsend

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/servertext"
)

// maxBody is how much is read of an answer.
const maxBody = 64 << 10

// Do sends r and returns the beginning of the answer's body if the status is 2xx:
// the status is the answer, a body that does not arrive changes nothing.
//
// Other outcomes are errors. An *exporter.RetryError is returned where no answer
// came, and of the answers that retryable names; the body is part of the error,
// as the server's text, and so is a redirect's target.
//
// Of any body counts what arrives within a second, up to 64 KiB.
func Do(c *http.Client, r *http.Request, retryable func(status int, body []byte) bool) ([]byte, error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	// The query is long and says nothing that the reader of an error needs.
	where := url.URL{Scheme: r.URL.Scheme, User: r.URL.User, Host: r.URL.Host, Path: r.URL.Path}
	response, err := c.Do(r)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = fmt.Errorf("%s: %w", where.Redacted(), inner.Err)
		}
		return nil, &exporter.RetryError{Err: err, Refused: notSent(err)}
	}
	defer func() { _ = response.Body.Close() }()
	var body []byte
	// That of a 101 is the connection itself, which may stay silent and does
	// not hear of ctx.
	if response.StatusCode != http.StatusSwitchingProtocols {
		defer time.AfterFunc(bodyTime(ctx), cancel).Stop()
		body, _ = io.ReadAll(io.LimitReader(response.Body, maxBody))
	}
	if response.StatusCode/100 == 2 {
		return body, nil
	}

	err = statusError(where.Redacted(), response, body)
	if !retryable(response.StatusCode, body) {
		return nil, err
	}
	return nil, &exporter.RetryError{
		Err:     err,
		After:   retryAfter(response.Header.Get("Retry-After")),
		Refused: response.StatusCode == http.StatusTooManyRequests,
	}
}

// bodyTime returns how long to wait for a body: a second, and no longer than half
// of what ctx has left, so that the status decides what becomes of the attempt,
// and not that ctx has ended.
func bodyTime(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(time.Second, time.Until(deadline)/2)
	}
	return time.Second
}

func statusError(where string, r *http.Response, body []byte) error {
	status := servertext.Clean(r.Status)
	if location, err := r.Location(); err == nil && r.StatusCode/100 == 3 {
		to := url.URL{Scheme: location.Scheme, User: location.User, Host: location.Host, Path: location.Path}
		return fmt.Errorf("%s answers %s to %s: redirects are not followed, use that address", where, status, servertext.Clean(to.Redacted()))
	}
	if text := servertext.Clean(string(body)); text != "" {
		return fmt.Errorf("%s answers %s: %s", where, status, text)
	}
	return fmt.Errorf("%s answers %s", where, status)
}

// notSent reports whether err says that no request has left.
func notSent(err error) bool {
	var (
		op          *net.OpError
		certificate *tls.CertificateVerificationError
	)
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") || errors.As(err, &certificate)
}

// retryAfter reads the header's value, seconds or a date; 0 if it is neither.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
