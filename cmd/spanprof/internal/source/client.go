// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/client"
	"github.com/spanprof/spanprof/internal/secrets"
)

// maxAnswer bounds an answer, as it is sent.
const maxAnswer = 64 << 20

// answerTime is how long an answer may take beyond what is measured for it.
const answerTime = 30 * time.Second

// get returns the body of the answer to a GET. The server may take measure longer than
// for other answers. name is the address in messages.
func get(ctx context.Context, c *client.Client, name, address string, measure time.Duration) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, client.WithoutAddress(err))
	}
	_, body, err := c.Fetch(r, name, measure+answerTime, maxAnswer)
	return body, err
}

// decodeError describes a successful answer that is not a profile.
func decodeError(c *client.Client, name string, body []byte, err error) error {
	text := c.Clean(client.FirstLine(body))
	if len(body) > 0 && strings.HasPrefix(http.DetectContentType(body), "text/") {
		return fmt.Errorf("%s: the answer is no profile in the pprof format, but text (a page to log in?): %s", name, text)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// parseAddress reads the address of a SOURCE.
func parseAddress(arg string) (*url.URL, error) {
	u, err := url.Parse(arg)
	switch {
	case err != nil && secrets.Text(arg) != arg:
		// The error would repeat a secret.
		return nil, errors.New("a SOURCE is no address that can be read")
	case err != nil:
		return nil, fmt.Errorf("%q: %w", arg, client.WithoutAddress(err))
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
