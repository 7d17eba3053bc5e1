// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// hostname returns a Host header in lower case and without its port, trailing
// dot and brackets.
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
