// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// longest bounds what may be asked for, far above what anybody waits for.
const longest = 24 * time.Hour

// seconds returns how long a request wants to measure.
func seconds(r *http.Request, otherwise time.Duration) (time.Duration, error) {
	text := r.FormValue("seconds")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	// Written so that NaN is refused too.
	if err != nil || !(n > 0 && n <= longest.Seconds()) {
		return 0, fmt.Errorf("invalid value %.50q for %q: use a positive number, at most %.0f", text, "seconds", longest.Seconds())
	}
	return max(1, time.Duration(n*float64(time.Second))), nil
}

// extendDeadline gives the answer d more than the server's WriteTimeout, which
// counts from the request. The error, for the client, says that it cannot be
// given and that the answer would come too late.
func extendDeadline(w http.ResponseWriter, r *http.Request, d time.Duration) error {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok || server.WriteTimeout <= 0 {
		return nil
	}
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(server.WriteTimeout + d))
	if err == nil || d < server.WriteTimeout {
		return nil
	}
	return errors.New("profile duration exceeds the server's WriteTimeout, which cannot be extended here")
}

// number reads a parameter that is 0 if it is missing.
func number(r *http.Request, name string) (int, error) {
	text := r.FormValue(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("invalid value %.50q for %q: use a whole number from 0 on", text, name)
	}
	return n, nil
}
