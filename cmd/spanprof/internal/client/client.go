// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package client sends requests to the servers of the command line, with the credentials of
// the environment. Answers are bounded, and errors have no credentials.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/httpsend"
	"github.com/spanprof/spanprof/internal/servertext"
)

// maxRefusal bounds what is read of an answer that is no success.
const maxRefusal = 16 << 10

var (
	// ErrTooLate is the cause of an error about an answer that takes too long.
	ErrTooLate = errors.New("no answer within")
	// ErrTooLarge is the cause of an error about an answer with too many bytes.
	ErrTooLarge = errors.New("the answer has more than")
)

// Client sends requests. It is safe for concurrent use.
type Client struct {
	*http.Client
	// Redactor removes the credentials from texts.
	servertext.Redactor
	header http.Header
}

// New returns a client. A redirect is a StatusError: another server gets no credentials, and
// net/http would repeat a POST as a GET without its body.
func New() (*Client, error) {
	header, err := credentials()
	if err != nil {
		return nil, err
	}
	c := httpsend.WithoutRedirects(&http.Client{Transport: httpsend.NewTransport()})
	return &Client{c, servertext.NewRedactor(header, nil), header}, nil
}

// credentials returns the header of each request: Authorization by SPANPROF_TOKEN, or by
// SPANPROF_USER and SPANPROF_PASSWORD; X-Scope-OrgID by SPANPROF_TENANT; and the name of
// the program. It is an error if both a token and a user or a password are set.
func credentials() (http.Header, error) {
	header := http.Header{"User-Agent": {"spanprof"}}
	user, password, token := os.Getenv("SPANPROF_USER"), os.Getenv("SPANPROF_PASSWORD"), os.Getenv("SPANPROF_TOKEN")
	switch {
	case token != "" && (user != "" || password != ""):
		return nil, errors.New("both SPANPROF_TOKEN and SPANPROF_USER or SPANPROF_PASSWORD are set: a request has room for one")
	case token != "":
		header.Set("Authorization", "Bearer "+token)
	case user != "" || password != "":
		r := http.Request{Header: header}
		r.SetBasicAuth(user, password)
	}
	if tenant := os.Getenv("SPANPROF_TENANT"); tenant != "" {
		header.Set("X-Scope-OrgID", tenant)
	}
	return header, nil
}

// StatusError is an answer that is no success.
type StatusError struct {
	// Name is the address, Status the status line and Text the server's message.
	Name, Status, Text string
	// Code is the code of Status, Reason the error code of the Connect protocol, "" in
	// other answers.
	Code   int
	Reason string
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s: the server answers %s", e.Name, e.Status)
	if e.Text != "" {
		text += ": " + e.Text
	}
	switch {
	case e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden:
		text += " (credentials come from the environment: SPANPROF_TOKEN, or SPANPROF_USER and SPANPROF_PASSWORD, and SPANPROF_TENANT)"
	case e.Code >= 300 && e.Code < 400:
		text += " (such redirects are not followed: give the address that it leads to)"
	}
	return text
}

// UnansweredError is that no answer came, or not all of it.
type UnansweredError struct {
	Name string // the address
	Err  error
	text string // of Err, without credentials
}

func (e *UnansweredError) Error() string { return e.Name + ": " + e.text }

func (e *UnansweredError) Unwrap() error { return e.Err }

// Fetch sends a request, and returns the header and the body of a success. An answer may
// take so long, and have maxBytes. name is the address in errors, which are a StatusError or
// an UnansweredError.
func (c *Client) Fetch(r *http.Request, name string, within time.Duration, maxBytes int64) (http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	maps.Copy(r.Header, c.header)
	fail := func(err error) (http.Header, []byte, error) {
		if ctx.Err() != nil && r.Context().Err() == nil {
			err = fmt.Errorf("%w %v", ErrTooLate, within)
		}
		err = WithoutAddress(err)
		// net/http quotes a header that it cannot read, in which a server may repeat the request.
		return nil, nil, &UnansweredError{Name: name, Err: err, text: c.Clean(err.Error())}
	}
	answer, err := c.Do(r.WithContext(ctx))
	if err != nil {
		return fail(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		e := &StatusError{Name: name, Status: c.Clean(answer.Status), Code: answer.StatusCode}
		text, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusal)) // a part of it is enough
		var message struct{ Code, Message string }
		if json.Unmarshal(text, &message) == nil && message.Code != "" {
			e.Reason, e.Text = c.Clean(message.Code), c.Clean(message.Message)
		} else {
			e.Text = c.Clean(firstLine(text))
		}
		return nil, nil, e
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBytes+1))
	switch {
	case err != nil:
		return fail(fmt.Errorf("the answer breaks off: %w", err))
	case int64(len(body)) > maxBytes:
		return fail(fmt.Errorf("%w %d MiB", ErrTooLarge, maxBytes>>20))
	}
	return answer.Header, body, nil
}

// firstLine returns the first line of a text.
func firstLine(body []byte) string {
	if strings.HasPrefix(http.DetectContentType(body), "text/html") {
		return "an HTML page"
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	return line
}

// WithoutAddress removes the address from an error of net/http: the message has it
// already, and its query may be long.
func WithoutAddress(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
