// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpsend

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/servertext"
)

// maxBody bounds what is read of a body.
const maxBody = 64 << 10

// Answer is the body of a success.
type Answer struct {
	Type string // of the content, without parameters
	Body []byte // the beginning

	where string
	clean func(string) string
}

// IsPage reports whether the answer is a page for people: a proxy's login page.
func (a *Answer) IsPage() bool {
	return len(a.Body) > 0 && (a.Type == "text/html" || a.Type == "" && strings.HasPrefix(http.DetectContentType(a.Body), "text/html"))
}

// NotLike returns the error of an answer that no server of the given kind gives.
func (a *Answer) NotLike(kind string) error {
	return fmt.Errorf("%s answers with success, but not as %s does: is the endpoint right? The answer is %s: %s", a.where, kind, a.clean(a.Type), a.clean(string(a.Body)))
}

// Do sends r and returns the answer if the status is 2xx. The status decides, even if the
// body does not arrive.
//
// Other outcomes are errors. Judge decides about an answer.
// Without an answer the error is an *exporter.RetryError. The server's text and a redirect's
// target are part of the error. Credentials of r are removed from it.
//
// Do reads at most 64 KiB of a body, for at most a second.
func Do(c *http.Client, r *http.Request) (*Answer, error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	clean := servertext.NewRedactor(r.Header, r.URL).Clean
	// The query is long, and no reader of an error needs it.
	where := (&url.URL{Scheme: r.URL.Scheme, User: r.URL.User, Host: r.URL.Host, Path: r.URL.Path}).Redacted()
	response, err := c.Do(r)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			// It quotes an answer that is not HTTP's.
			err = &transportError{text: where + ": " + clean(inner.Err.Error()), err: inner.Err}
		}
		return nil, &exporter.RetryError{Err: err, Refused: notSent(err)}
	}
	defer func() { _ = response.Body.Close() }()
	var body []byte
	// The body of a 101 is the connection itself: it may stay silent and ignores ctx.
	if response.StatusCode != http.StatusSwitchingProtocols {
		defer time.AfterFunc(bodyTime(ctx), cancel).Stop()
		body, _ = io.ReadAll(io.LimitReader(response.Body, maxBody))
	}
	contentType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode/100 == 2 {
		return &Answer{Type: contentType, Body: body, where: where, clean: clean}, nil
	}
	code, text := statusOf(contentType, body)
	failure := Failure{Status: response.StatusCode, Code: code, Text: text, After: retryAfter(response.Header.Get("Retry-After"))}
	return nil, Judge(failure, statusError(where, response, text, clean))
}

// transportError is an error of net/http with a text that is fit for a log.
type transportError struct {
	text string
	err  error
}

func (e *transportError) Error() string { return e.text }
func (e *transportError) Unwrap() error { return e.err }

// bodyTime returns how long to wait for a body: a second, but at most half of the time that
// ctx has left. Then the status decides about the attempt, and not the end of ctx.
func bodyTime(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(time.Second, time.Until(deadline)/2)
	}
	return time.Second
}

func statusError(where string, r *http.Response, text string, clean func(string) string) error {
	failed := fmt.Sprintf("%s answers %s", where, clean(r.Status))
	if location, err := r.Location(); err == nil && r.StatusCode/100 == 3 {
		to := url.URL{Scheme: location.Scheme, User: location.User, Host: location.Host, Path: location.Path}
		failed += fmt.Sprintf(" to %s: redirects are not followed, use that address", clean(to.Redacted()))
	} else if text = clean(text); text != "" {
		failed += ": " + text
	}
	return errors.New(failed)
}

// notSent reports whether err is of a request that was not sent.
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
