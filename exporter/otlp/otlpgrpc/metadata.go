// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc

import (
	"fmt"
	"strings"
)

// checkMetadata returns an error if gRPC cannot send the pair, by its
// specification of PROTOCOL-HTTP2. It would say so at every attempt. The error
// leaves the value out.
func checkMetadata(key, value string) error {
	key = strings.ToLower(key)
	switch {
	case key == "" || strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	}):
		return fmt.Errorf("header %q is not possible: use a name of letters, digits, dashes, underscores and dots", key)
	case strings.HasSuffix(key, "-bin"): // sent as base64
		return nil
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("the value of header %s is not possible: use one line of printable ASCII, or a name that ends in -bin", key)
	}
	return nil
}
