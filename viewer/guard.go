// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// hostname returns a Host header in lower case, without port, trailing dot and brackets.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// hostAllowed reports whether a request for host may be answered.
func hostAllowed(host string, allowed []string) bool {
	name := hostname(host)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	if addr, err := netip.ParseAddr(name); err == nil && addr.Unmap().IsLoopback() {
		return true
	}
	return name != "" && slices.Contains(allowed, name) || slices.Contains(allowed, "*")
}

// contentPolicy lets the page load its own files and nothing else. Its icon is a data:
// URL.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// setSecurityHeaders sets the headers that every answer has.
func setSecurityHeaders(header http.Header) {
	header.Set("Content-Security-Policy", contentPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// fromOtherSite reports whether the page of another site made the browser send the
// request. Such a page cannot read the answer, but each of its images could make the
// viewer build a profile. Browsers since 2023 send the header to loopback and TLS
// addresses; other programs do not send it.
func fromOtherSite(header http.Header) bool {
	switch header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return true
}

// followsLink reports whether a browser will show the answer as its page.
func followsLink(header http.Header) bool {
	return header.Get("Sec-Fetch-Mode") == "navigate" && header.Get("Sec-Fetch-Dest") == "document"
}
