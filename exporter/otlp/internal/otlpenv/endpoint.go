// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpenv

import (
	"errors"
	"net/url"
)

var errNoHTTP = errors.New("want http or https and a host, as in http://localhost:4318, with percent-encoding for special characters")

// ParseURL returns the URL of an endpoint of HTTP's. The error leaves out all of
// the text, and so of what net/url says: a password may be anywhere in it.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errNoHTTP
	}
	return u, nil
}
