// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp

import (
	"bytes"
	"errors"
	"net/http"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

// timed returns a handler of a kind that is measured for a while.
func (h *handler) timed(name string, k exporter.Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d, err := seconds(r, 30*time.Second)
		if err == nil {
			// Short ones may take longer, as Profile says.
			err = extendDeadline(w, r, d+max(0, time.Second-d/5))
		}
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		var b bytes.Buffer
		switch err := h.profiler.Profile(r.Context(), &b, k, d); {
		case err == nil:
			announce(w, name)
			_, _ = w.Write(b.Bytes())
		case r.Context().Err() != nil:
			failContext(w, r.Context().Err())
		case errors.Is(err, profiler.ErrNotEnabled), errors.Is(err, profiler.ErrUnknownKind):
			fail(w, http.StatusNotFound, err.Error()+"\nname \""+string(k)+"\" in profiler.WithKinds or call Enable")
		case errors.Is(err, profiler.ErrCPUInUse):
			fail(w, http.StatusInternalServerError, "could not enable CPU profiling: "+err.Error())
		default:
			fail(w, http.StatusInternalServerError, err.Error())
		}
	}
}
