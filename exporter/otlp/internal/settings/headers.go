// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spanprof/spanprof/internal/httpsend"
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
		if !ok || !httpsend.IsToken(key) {
			errs = append(errs, fmt.Errorf("header %d is ignored: want key=value", i+1))
			continue
		}
		value, err := url.PathUnescape(value)
		if err != nil {
			errs = append(errs, fmt.Errorf("header %s is ignored: percent-encoding is wrong", key))
			continue
		}
		value = strings.TrimSpace(value)
		if err := httpsend.CheckHeader(key, value); err != nil {
			errs = append(errs, fmt.Errorf("%w: it is ignored", err))
			continue
		}
		headers[key] = value
	}
	return headers, errors.Join(errs...)
}
