// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpsend

import (
	"cmp"
	"net/http"
	"time"
)

// A connection of HTTP/2 counts as dead after these times, which Kubernetes' clients have
// too. Otherwise a connection that a proxy has lost would serve every attempt until it times
// out. One ping in 30 s without other traffic is no load for an HTTP server.
const (
	sendPingTimeout = 30 * time.Second
	pingTimeout     = 15 * time.Second
)

// maxHeader bounds the header of an answer. net/http's default is 10 MiB.
const maxHeader = 64 << 10

// NewTransport returns a transport like http.DefaultTransport, with its own connections. It
// replaces silent connections of HTTP/2. http.DefaultTransport does so only if the program
// has set it.
func NewTransport() *http.Transport {
	// A program may have replaced http.DefaultTransport by any type.
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

// WithoutRedirects returns a copy of c that returns a redirect as the answer, unless c has
// a CheckRedirect. net/http would repeat a redirected POST as a GET without its body. At
// another host it would also leave out Authorization.
func WithoutRedirects(c *http.Client) *http.Client {
	own := *c
	if own.CheckRedirect == nil {
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &own
}
