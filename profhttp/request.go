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

// longest bounds the duration of a profile.
const longest = 24 * time.Hour

// seconds returns the duration of a request.
func seconds(r *http.Request, otherwise time.Duration) (time.Duration, error) {
	text := r.FormValue("seconds")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0 && n <= longest.Seconds()) { // or NaN
		return 0, fmt.Errorf("invalid value %.50q for %q: use a positive number, at most %.0f", text, "seconds", longest.Seconds())
	}
	return max(1, time.Duration(n*float64(time.Second))), nil
}

// extendDeadline gives the answer d more than the server's WriteTimeout, which counts from the
// request. It returns an error, for the client, if the answer would be too late.
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

// fail answers with an error as text, and removes the headers of a profile.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Go-Pprof", "1") // go tool pprof shows the text
	w.Header().Del("Content-Disposition")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// announce sets the headers of a profile.
func announce(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
}
