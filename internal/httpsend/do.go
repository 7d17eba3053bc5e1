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

// maxBody is how much is read of an answer.
const maxBody = 64 << 10

// Protocol says how to read answers that are no success.
type Protocol struct {
	// Retryable says which of them can become one.
	Retryable func(status int, body []byte) bool
	// Text returns what a body says; nil if bodies are text.
	Text func(contentType string, body []byte) []byte
}

// Answer is that of a success.
type Answer struct {
	Type string // of the content, without parameters
	Body []byte // the beginning

	where string
	clean func(string) string
}

// IsPage reports whether the answer is a page for people, as a proxy gives one
// where it wants them to log in.
func (a *Answer) IsPage() bool {
	return len(a.Body) > 0 && (a.Type == "text/html" || a.Type == "" && strings.HasPrefix(http.DetectContentType(a.Body), "text/html"))
}

// NotLike returns the error of an answer that nothing of the given kind would give.
func (a *Answer) NotLike(kind string) error {
	return fmt.Errorf("%s answers with success, but not as %s does: is the endpoint right? It says %s: %s", a.where, kind, a.clean(a.Type), a.clean(string(a.Body)))
}

// Do sends r and returns the answer if the status is 2xx: the status counts, a body
// that does not arrive changes nothing.
//
// Other outcomes are errors. An *exporter.RetryError is returned where no answer
// came, and of the answers that the protocol names; the body is part of the error,
// as the server's text, and so is a redirect's target. Credentials of r are not, if
// the server repeats them.
//
// Of any body counts what arrives within a second, up to 64 KiB.
func Do(c *http.Client, r *http.Request, protocol Protocol) (*Answer, error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	clean := servertext.NewRedactor(r.Header, r.URL).Clean
	// The query is long and says nothing that the reader of an error needs.
	where := (&url.URL{Scheme: r.URL.Scheme, User: r.URL.User, Host: r.URL.Host, Path: r.URL.Path}).Redacted()
	response, err := c.Do(r)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			// Of an answer that is not HTTP's, it has the beginning.
			err = &transportError{text: where + ": " + clean(inner.Err.Error()), err: inner.Err}
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
	contentType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode/100 == 2 {
		return &Answer{Type: contentType, Body: body, where: where, clean: clean}, nil
	}

	text := body
	if protocol.Text != nil {
		text = protocol.Text(contentType, body)
	}
	err = statusError(where, response, string(text), clean)
	if response.StatusCode == http.StatusRequestEntityTooLarge {
		return nil, &exporter.RetryError{Err: err, Refused: true, TooLarge: true}
	}
	if !protocol.Retryable(response.StatusCode, body) {
		return nil, err
	}
	return nil, &exporter.RetryError{
		Err:     err,
		After:   retryAfter(response.Header.Get("Retry-After")),
		Refused: response.StatusCode == http.StatusTooManyRequests,
	}
}

// transportError is an error with a text that is fit for a log.
type transportError struct {
	text string
	err  error
}

func (e *transportError) Error() string { return e.text }
func (e *transportError) Unwrap() error { return e.err }

// bodyTime returns how long to wait for a body: a second, and no longer than half
// of what ctx has left, so that the status decides what becomes of the attempt,
// and not that ctx has ended.
func bodyTime(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(time.Second, time.Until(deadline)/2)
	}
	return time.Second
}

func statusError(where string, r *http.Response, text string, clean func(string) string) error {
	status := clean(r.Status)
	if location, err := r.Location(); err == nil && r.StatusCode/100 == 3 {
		to := url.URL{Scheme: location.Scheme, User: location.User, Host: location.Host, Path: location.Path}
		return fmt.Errorf("%s answers %s to %s: redirects are not followed, use that address", where, status, clean(to.Redacted()))
	}
	if text = clean(text); text != "" {
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
