// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package linkurl

import (
	"errors"
	"fmt"
	"net/url"
	"unicode/utf8"
)

// ErrNotUTF8 says that a URL cannot be an attribute.
var ErrNotUTF8 = errors.New("the address is not UTF-8, which OTLP exporters refuse with the whole batch of spans")

var (
	errUser      = errors.New("the address has a user in it, who would be in the attributes of all spans; leave it out")
	errNoAddress = errors.New("want an address such as http://localhost:4040/?id={span_id}")
)

// CheckAddress reports why an option's address is not one that a path can be put behind.
func CheckAddress(option, addr string) error {
	if addr == "" {
		return errors.New("no address; set one by " + option)
	}
	if !utf8.ValidString(addr) {
		return fmt.Errorf("%s: %w", option, ErrNotUTF8)
	}
	u, err := url.Parse(addr)
	if err != nil {
		return fmt.Errorf("%s: %w", option, withoutURL(err))
	}
	if u.User != nil {
		return fmt.Errorf("%s: %w", option, errUser)
	}
	if u.Scheme == "" || u.Host == "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return fmt.Errorf("%s(%q): want an address such as http://localhost:4040 or http://localhost:8080/debug/spanprof", option, addr)
	}
	return nil
}

// withoutURL returns what is wrong with a URL without the URL, which may have a password
// in it.
func withoutURL(err error) error {
	if in, ok := errors.AsType[*url.Error](err); ok {
		return in.Err
	}
	return err
}
