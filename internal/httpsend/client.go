// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpsend

import (
	"cmp"
	"net/http"
	"time"
)

// When a connection of HTTP/2 counts as dead: those of Kubernetes' clients.
// Nothing else would end one that has become silent, by a proxy that lost it or a
// frozen pod: every attempt would use it again until it times out. It is gone
// after 45 s, of the minutes that a profile may wait. One ping in 30 s without
// other traffic, until the connection is idle for too long, bothers no HTTP
// server.
const (
	sendPingTimeout = 30 * time.Second
	pingTimeout     = 15 * time.Second
)

// maxHeader is how much is read of the header of an answer, of which net/http would
// keep 10 MiB.
const maxHeader = 64 << 10

// NewTransport returns a transport like http.DefaultTransport, with connections
// of its own, which whoever made it can close. It replaces connections of HTTP/2
// that have become silent, as http.DefaultTransport does not unless the program
// has said so there.
func NewTransport() *http.Transport {
	// Where the program has put its own in place, that may be anything.
	own := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		own = t.Clone()
	}
	own.MaxResponseHeaderBytes = cmp.Or(own.MaxResponseHeaderBytes, maxHeader)
	if own.HTTP2 == nil {
		own.HTTP2 = new(http.HTTP2Config)
	}
	own.HTTP2.SendPingTimeout = cmp.Or(own.HTTP2.SendPingTimeout, sendPingTimeout)
	own.HTTP2.PingTimeout = cmp.Or(own.HTTP2.PingTimeout, pingTimeout)
	return own
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
