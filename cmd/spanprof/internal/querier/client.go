// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package querier is a client of a Pyroscope server's querier.v1.QuerierService, in the
// unary form of the Connect protocol.
package querier

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/credential"
	"github.com/spanprof/spanprof/internal/httpsend"
	"github.com/spanprof/spanprof/internal/servertext"
)

const (
	// callTime is the longest time of one call.
	callTime = 30 * time.Second
	// maxErrorBytes bounds what is read of an error answer.
	maxErrorBytes = 16 << 10
	// maxCalls is the number of concurrent calls.
	maxCalls = 8
)

// Client queries one server. It is safe for concurrent use.
type Client struct {
	http *http.Client
	// name is the address as given, without a trailing slash; base is its HTTP form.
	name, base string
	header     http.Header
	redactor   servertext.Redactor
	maxBytes   int64
	remedy     string
	slots      chan struct{}
}

// New returns a client of the server at an address. The address begins with http:// or
// https://, or with pyroscope+ before these. The credentials are of package credential.
// An unpacked answer may have maxBytes. The error for a larger one ends with remedy.
func New(address *url.URL, maxBytes int64, remedy string) (*Client, error) {
	header, err := credential.Header()
	if err != nil {
		return nil, err
	}
	u := url.URL{Scheme: address.Scheme, Host: address.Host, Path: strings.TrimRight(address.Path, "/")}
	return &Client{
		// net/http would repeat a POST as a GET without its body.
		http:     httpsend.WithoutRedirects(&http.Client{Transport: httpsend.NewTransport()}),
		name:     u.String(),
		base:     strings.TrimPrefix(u.String(), "pyroscope+"),
		header:   header,
		redactor: servertext.NewRedactor(header, nil),
		maxBytes: maxBytes,
		remedy:   remedy,
		slots:    make(chan struct{}, maxCalls),
	}, nil
}

// String returns the server's address as given, without credentials.
func (c *Client) String() string { return c.name }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Error is a refusal by the server or a proxy.
type Error struct {
	// Server is its address, Method the called method.
	Server, Method string
	// Code is the error code of the Connect protocol, "" where a proxy answers.
	Code string
	// Status is the HTTP status, such as "404 Not Found".
	Status string
	// Text is the server's text, without credentials.
	Text string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s answers %s to %s", e.Server, e.Status, e.Method)
	if e.Text != "" {
		text += ": " + e.Text
	}
	switch e.Status[:min(3, len(e.Status))] {
	case "401", "403":
		text += " (credentials come from the environment: SPANPROF_TOKEN, or SPANPROF_USER and SPANPROF_PASSWORD, and SPANPROF_TENANT)"
	case "301", "302", "303", "307", "308":
		text += " (redirects are not followed: give the address that it leads to)"
	}
	return text
}

// IsUnimplemented reports whether the server does not have the called method.
func IsUnimplemented(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == "unimplemented" || e.Code == "" && strings.HasPrefix(e.Status, "404"))
}

const (
	asJSON  = "application/json"
	asProto = "application/proto"
)

// callJSON makes a call with messages in JSON.
func (c *Client) callJSON(ctx context.Context, method string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	body, err = c.call(ctx, method, asJSON, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, answer); err != nil {
		// Such errors quote values.
		return fmt.Errorf("%s: the answer to %s is not one of a Pyroscope server: %s", c.name, method, c.redactor.Clean(err.Error()))
	}
	return nil
}

// call makes a call and returns the unpacked answer.
func (c *Client) call(ctx context.Context, method, contentType string, request []byte) ([]byte, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodPost, c.base+"/querier.v1.QuerierService/"+method, bytes.NewReader(request))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	maps.Copy(r.Header, c.header)
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Connect-Protocol-Version", "1")
	fail := func(err error) ([]byte, error) {
		if limited.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("no answer within %s: ask for less time, or fewer labels", callTime)
		}
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		// net/http quotes a header that it cannot read, and a server may repeat the
		// request there.
		if text := c.redactor.Clean(err.Error()); text != err.Error() && ctx.Err() == nil {
			err = errors.New(text)
		}
		return nil, fmt.Errorf("%s: %s: %w", c.name, method, err)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, c.refusal(method, answer)
	}
	// A login page is an answer too.
	if got := answer.Header.Get("Content-Type"); !strings.HasPrefix(got, contentType) {
		return fail(fmt.Errorf("the answer is %q, and not one of a Pyroscope server (is a proxy in between that wants people to log in?)", servertext.Clean(got)))
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, c.maxBytes+1))
	switch {
	case err != nil:
		return fail(fmt.Errorf("the answer breaks off: %w", err))
	case int64(len(body)) > c.maxBytes:
		return fail(fmt.Errorf("the answer has more than %d MiB: %s", c.maxBytes>>20, c.remedy))
	}
	return body, nil
}

// refusal reads an error answer.
func (c *Client) refusal(method string, answer *http.Response) error {
	clean := c.redactor.Clean
	e := &Error{Server: c.name, Method: method, Status: clean(answer.Status)}
	// Ignore a failure to read the text of an error.
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxErrorBytes))
	var message struct{ Code, Message string }
	if json.Unmarshal(text, &message) == nil && message.Code != "" {
		e.Code, e.Text = clean(message.Code), clean(message.Message)
		return e
	}
	if !strings.Contains(http.DetectContentType(text), "html") {
		e.Text = clean(string(text))
	}
	return e
}

// ReportTo makes the client report the first call that the server does not answer, and the
// first answer after it. An answer of 500 and above counts as none. Call it before the
// first call.
func (c *Client) ReportTo(report func(text string)) {
	c.http.Transport = &reporting{next: c.http.Transport, report: func(text string) {
		report(c.name + ": " + c.redactor.Clean(text))
	}}
}

// reporting is a transport that reports whether its server is away.
type reporting struct {
	next   http.RoundTripper
	report func(string)
	away   atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (t *reporting) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	switch {
	case r.Context().Err() != nil: // the page was closed
	case err == nil && answer.StatusCode < http.StatusInternalServerError:
		if t.away.Swap(false) {
			t.report("it answers again")
		}
	case !t.away.Swap(true):
		text := "it answers "
		if err != nil {
			text += fmt.Sprint("nothing: ", err)
		} else {
			text += answer.Status
		}
		t.report(text + "; pages show errors until it answers")
	}
	return answer, err
}
