// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "net/http"

// contentPolicy lets the page load its own files and nothing else. data: is the
// page's icon.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// secure sets the headers that every answer has.
func secure(header http.Header) {
	header.Set("Content-Security-Policy", contentPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// fromElsewhere reports whether another site's page makes a browser ask. Such a
// page cannot read the answer, but each image or download in it would have a
// profile put together. Browsers since 2023 say so, to addresses that they trust:
// loopback ones and those with TLS. Programs say nothing.
func fromElsewhere(header http.Header) bool {
	switch header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return true
}

// followsLink reports whether a browser goes to what it asks for.
func followsLink(header http.Header) bool {
	return header.Get("Sec-Fetch-Mode") == "navigate" && header.Get("Sec-Fetch-Dest") == "document"
}
