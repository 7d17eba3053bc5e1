// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
)

// delta returns a handler that answers with what was added since its last
// answer. The profiler, one of godeltaprof's, keeps the state, behind a lock of
// its own. What it gives is in no later answer, so it is not asked for anybody who
// does not read.
func delta(name string, profiler interface{ Profile(w io.Writer) error }) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.Header().Set("Allow", "GET")
			fail(w, http.StatusMethodNotAllowed, "deltas are read by GET: an answer without them would lose them")
			return
		}
		gc, err := number(r, "gc")
		switch {
		case err != nil:
			fail(w, http.StatusBadRequest, err.Error())
			return
		case r.FormValue("seconds") != "":
			fail(w, http.StatusBadRequest, `"seconds" is not supported for this profile: it has what was added since the last request; use "`+name+`" with "seconds"`)
			return
		}
		if name == "heap" && gc > 0 {
			runtime.GC()
		}
		if err := r.Context().Err(); err != nil {
			failContext(w, err)
			return
		}
		var b bytes.Buffer
		if err := profiler.Profile(&b); err != nil {
			fail(w, http.StatusInternalServerError, name+" profile: "+err.Error())
			return
		}
		announce(w, "delta_"+name)
		_, _ = w.Write(b.Bytes())
	}
}
