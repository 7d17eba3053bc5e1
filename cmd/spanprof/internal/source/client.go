// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/credential"
	"github.com/spanprof/spanprof/internal/httpsend"
	"github.com/spanprof/spanprof/internal/secrets"
	"github.com/spanprof/spanprof/internal/servertext"
)

// maxAnswer bounds an answer, as it is sent. Tests make it less.
var maxAnswer int64 = 64 << 20

const (
	// maxRefusal is how much is read of an answer that is no success.
	maxRefusal = 4 << 10
	// answerTime is how long an answer may take beyond what is measured for it.
	answerTime = 30 * time.Second
)

// StatusError is an answer that is no success.
type StatusError struct {
	// Name is the address, Status the status line and Text the server's message.
	Name, Status, Text string
	Code               int
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s: the server answers %s", e.Name, e.Status)
	if e.Text != "" {
		text += ": " + e.Text
	}
	if e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden {
		text += " (credentials come from SPANPROF_USER and SPANPROF_PASSWORD, or from SPANPROF_TOKEN)"
	}
	if e.Code >= 300 && e.Code < 400 {
		text += " (such redirects are not followed: give the address that it leads to)"
	}
	return text
}

// UnansweredError is that no answer came, or not all of it.
type UnansweredError struct {
	Name string // the address
	Err  error
	// text is Err without the credentials, which a server may repeat in a header
	// that is none.
	text string
}

func (e *UnansweredError) Error() string { return e.Name + ": " + e.text }

func (e *UnansweredError) Unwrap() error { return e.Err }

// client sends requests with the credentials of the environment.
type client struct {
	http   *http.Client
	header http.Header
}

// clientFromEnvironment returns a client with the credentials of the environment.
func clientFromEnvironment() (*client, error) {
	header, err := credential.Header()
	if err != nil {
		return nil, err
	}
	return &client{http: &http.Client{Transport: httpsend.NewTransport(), CheckRedirect: sameServer}, header: header}, nil
}

// sameServer follows redirects within a server alone: another one gets no
// credentials, and its profiles are not those that were asked for.
func sameServer(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if r.URL.Scheme != first.Scheme || r.URL.Host != first.Host {
		to := url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: r.URL.Path}
		return fmt.Errorf("it redirects to %s, another server: name that one if it is the right one", servertext.Clean(to.String()))
	}
	if len(via) >= 10 {
		return errors.New("it redirects again and again")
	}
	return nil
}

// get returns the body of the answer to a GET. The server may take measure longer than
// for other answers. name is the address in messages.
func (c *client) get(ctx context.Context, name, address string, measure time.Duration) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, measure+answerTime)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, withoutAddress(err))
	}
	maps.Copy(r.Header, c.header)
	redactor := servertext.NewRedactor(r.Header, nil)
	fail := func(err error) ([]byte, error) {
		if ctx.Err() == nil && limited.Err() != nil {
			err = fmt.Errorf("no answer within %v", measure+answerTime)
		}
		err = withoutAddress(err)
		return nil, &UnansweredError{Name: name, Err: err, text: redactor.Clean(err.Error())}
	}
	response, err := c.http.Do(r)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
		clean := redactor.Clean
		return nil, &StatusError{Name: name, Status: clean(response.Status), Code: response.StatusCode, Text: clean(firstLine(response.Header, text))}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fail(fmt.Errorf("the answer breaks off: %w", err))
	case int64(len(body)) > maxAnswer:
		return fail(fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20))
	}
	return body, nil
}

// decodeError describes a successful answer that is not a profile.
func (c *client) decodeError(name string, body []byte, err error) error {
	text := servertext.NewRedactor(c.header, nil).Clean(firstLine(nil, body))
	if len(body) > 0 && strings.HasPrefix(http.DetectContentType(body), "text/") {
		return fmt.Errorf("%s: the answer is no profile in the pprof format, but text (a page to log in?): %s", name, text)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// firstLine returns the first line of a text, or the title of a page.
func firstLine(header http.Header, body []byte) string {
	text := string(body[:min(len(body), maxRefusal)])
	if strings.HasPrefix(header.Get("Content-Type"), "text/html") || strings.HasPrefix(http.DetectContentType(body), "text/html") {
		if _, rest, ok := strings.Cut(text, "<title>"); ok {
			text, _, _ = strings.Cut(rest, "</title>")
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// withoutAddress removes the address from an error of net/http: the message has it
// already, and its query may be long.
func withoutAddress(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// parseAddress reads the address of a SOURCE.
func parseAddress(arg string) (*url.URL, error) {
	u, err := url.Parse(arg)
	switch {
	case err != nil && secrets.Text(arg) != arg:
		// The error would repeat a secret.
		return nil, errors.New("a SOURCE is no address that can be read")
	case err != nil:
		return nil, fmt.Errorf("%q: %w", arg, withoutAddress(err))
	case u.User != nil:
		return nil, fmt.Errorf("%s: a SOURCE has no user and password: set SPANPROF_USER and SPANPROF_PASSWORD, or SPANPROF_TOKEN, in the environment", withoutUser(u))
	case u.Host == "":
		return nil, fmt.Errorf("%q: the address has no host", arg)
	}
	for name := range u.Query() {
		if secrets.Parameter(name) {
			return nil, fmt.Errorf("%s: a SOURCE has no credentials, as its parameter %q seems to be one: set SPANPROF_USER and SPANPROF_PASSWORD, or SPANPROF_TOKEN, in the environment", withoutUser(u), name)
		}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func withoutUser(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
