// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/google/pprof/profile"
)

// withDelta are the profiles of runtime/pprof of which two can be subtracted.
var withDelta = []string{"allocs", "block", "goroutine", "goroutineleak", "heap", "mutex", "threadcreate"}

// lookup answers with a profile of runtime/pprof.
func lookup(w http.ResponseWriter, r *http.Request, p *pprof.Profile) {
	debug, err := number(r, "debug")
	gc, gcErr := number(r, "gc")
	if err := errors.Join(err, gcErr); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	if r.FormValue("seconds") != "" {
		lookupDelta(w, r, p, debug)
		return
	}
	if p.Name() == "heap" && gc > 0 {
		runtime.GC()
	}
	if debug == 0 {
		announce(w, p.Name())
	} else {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	// The error would be that the client has gone.
	_ = p.WriteTo(w, debug)
}

// lookupDelta answers with the difference between a profile now and later.
func lookupDelta(w http.ResponseWriter, r *http.Request, p *pprof.Profile, debug int) {
	d, err := seconds(r, 0)
	switch {
	case err != nil:
		fail(w, http.StatusBadRequest, err.Error())
		return
	case !slices.Contains(withDelta, p.Name()):
		fail(w, http.StatusBadRequest, `"seconds" is not supported for this profile`)
		return
	case debug != 0:
		fail(w, http.StatusBadRequest, `"seconds" and "debug" exclude each other`)
		return
	}
	if err := extendDeadline(w, r, d); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	before, err := collect(p)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		failContext(w, r.Context().Err())
		return
	}
	after, err := collect(p)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	before.Scale(-1)
	sum, err := profile.Merge([]*profile.Profile{before, after})
	if err != nil {
		fail(w, http.StatusInternalServerError, fmt.Sprintf("subtract %s profiles: %v", p.Name(), err))
		return
	}
	sum.TimeNanos, sum.DurationNanos = after.TimeNanos, after.TimeNanos-before.TimeNanos
	announce(w, p.Name()+"-delta")
	_ = sum.Write(w)
}

func collect(p *pprof.Profile) (*profile.Profile, error) {
	var b bytes.Buffer
	if err := p.WriteTo(&b, 0); err != nil {
		return nil, fmt.Errorf("collect %s profile: %w", p.Name(), err)
	}
	now := time.Now()
	collected, err := profile.ParseData(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("parse %s profile: %w", p.Name(), err)
	}
	collected.TimeNanos = now.UnixNano()
	return collected, nil
}
