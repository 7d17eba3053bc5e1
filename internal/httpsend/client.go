// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpsend

import "net/http"

// NewTransport returns a transport like http.DefaultTransport, with connections
// of its own, which whoever made it can close.
func NewTransport() *http.Transport {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		return t.Clone()
	}
	// The program has put its own in place, which may be anything.
	return &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
}

// WithoutRedirects returns a copy of c that takes a redirect for the answer,
// unless c says what to do with one. net/http would repeat a redirected POST as
// a GET without its body, and without Authorization at another host.
func WithoutRedirects(c *http.Client) *http.Client {
	own := *c
	if own.CheckRedirect == nil {
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &own
}
