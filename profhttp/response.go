// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// fail answers with an error, as text. Headers of an answer that was planned
// are undone.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	// By this go tool pprof knows that it may show the text.
	w.Header().Set("X-Go-Pprof", "1")
	w.Header().Del("Content-Disposition")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// failContext answers when the request has ended. Mostly nobody listens, but a
// middleware's time limit may have been the reason.
func failContext(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusRequestTimeout
	}
	fail(w, status, err.Error())
}

// announce sets the headers of a profile.
func announce(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
}
