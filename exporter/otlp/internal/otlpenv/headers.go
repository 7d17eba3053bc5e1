// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpenv

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// parseHeaders reads key=value pairs separated by commas, with values in
// percent-encoding, as W3C Baggage has them. It returns those that are right
// even if others are not. Errors leave the values out: they may be secrets.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	var errs []error
	for i, pair := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !ok || !isToken(key) {
			errs = append(errs, fmt.Errorf("header %d: want key=value", i+1))
			continue
		}
		value, err := url.PathUnescape(value)
		if err != nil {
			errs = append(errs, fmt.Errorf("header %s: percent-encoding is wrong", key))
			continue
		}
		headers[key] = strings.TrimSpace(value)
	}
	return headers, errors.Join(errs...)
}

// isToken reports whether s can be the name of a header, by RFC 9110.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
