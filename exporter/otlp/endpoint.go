// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"errors"
	"net/url"
)

// checkHostPort returns an error unless s is a host, with a port or without. It
// leaves the text out: there may be a password in it.
func checkHostPort(s string) error {
	u, err := url.Parse("http://" + s)
	if err != nil || u.Host != s || u.Hostname() == "" {
		return errors.New("want a host and port, as in localhost:4318; for a URL use WithEndpointURL")
	}
	return nil
}

// endpointURL completes an endpoint of all signals, and leaves that of profiles
// as it is, by OTLP's specification.
func endpointURL(u *url.URL, forProfiles bool) *url.URL {
	if !forProfiles {
		return u.JoinPath(profilesPath)
	}
	if u.Path == "" {
		return u.JoinPath("/")
	}
	return u
}

// nameOf returns what errors say of u: without a query and a user, which may be
// secrets.
func nameOf(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
