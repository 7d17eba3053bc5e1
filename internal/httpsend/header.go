// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpsend

import (
	"fmt"
	"strings"
)

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
