// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package httpsend makes one HTTP request of an exporter.Destination. Its Judge decides
// for every destination whether the queue sends a profile again.
package httpsend

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
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

// CheckHeader returns an error if a header is invalid by RFC 9110. The error does not
// contain the value.
func CheckHeader(name, value string) error {
	switch {
	case !IsToken(name):
		return fmt.Errorf("header %q is not possible: use a name of letters, digits and dashes", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == '\x7f' }):
		return fmt.Errorf("the value of header %s is not possible: use one line without control characters", name)
	}
	return nil
}

// IsToken reports whether s can be the name of a header, by RFC 9110.
func IsToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
