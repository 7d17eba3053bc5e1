// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// parseHeaders reads key=value pairs separated by commas, with values in
// percent-encoding, as in W3C Baggage. It returns the valid ones even if others are
// invalid. Errors do not contain values, which may be secrets.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	var errs []error
	for i, pair := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !ok || !isToken(key) {
			errs = append(errs, fmt.Errorf("header %d is ignored: want key=value", i+1))
			continue
		}
		value, err := url.PathUnescape(value)
		if err != nil {
			errs = append(errs, fmt.Errorf("header %s is ignored: percent-encoding is wrong", key))
			continue
		}
		value = strings.TrimSpace(value)
		if err := CheckHeader(key, value); err != nil {
			errs = append(errs, fmt.Errorf("%w: it is ignored", err))
			continue
		}
		headers[key] = value
	}
	return headers, errors.Join(errs...)
}

// CheckHeader returns an error if a header is invalid by RFC 9110. The error does not
// contain the value.
func CheckHeader(name, value string) error {
	switch {
	case !isToken(name):
		return fmt.Errorf("header %q is not possible: use a name of letters, digits and dashes", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == '\x7f' }):
		return fmt.Errorf("the value of header %s is not possible: use one line without control characters", name)
	}
	return nil
}

// isToken reports whether s can be the name of a header, by RFC 9110.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
