// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp

import (
	"net/http"
	"runtime/trace"
	"time"
)

// serveTrace answers with an execution trace of the next seconds, one if the
// request does not say. A trace can be large: it is written while it is taken.
func serveTrace(w http.ResponseWriter, r *http.Request) {
	d, err := seconds(r, time.Second)
	if err == nil {
		err = extendDeadline(w, r, d)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	announce(w, "trace")
	if err := trace.Start(w); err != nil {
		fail(w, http.StatusInternalServerError, "could not enable tracing: "+err.Error())
		return
	}
	defer trace.Stop()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}
