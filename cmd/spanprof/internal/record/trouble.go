// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
)

// trouble is something that has begun to fail.
type trouble struct {
	since time.Time
	err   error
}

// away is an error of a target that does not answer at all.
type away struct{ error }

func (e away) Unwrap() error { return e.error }

func isAway(err error) bool {
	_, ok := errors.AsType[away](err)
	return ok || errors.Is(err, errGivenUp)
}

// fail counts an error of a kind, or of the whole target, and reports the first
// of several. It returns errGivenUp where it makes no sense to ask again, and
// what isAway knows where the target does not answer.
func (t *target) fail(ctx context.Context, kind exporter.Kind, err error) error {
	if ctx.Err() != nil {
		return err // that is no fault of the target
	}
	status, answered := errors.AsType[*source.StatusError](err)
	switch {
	case answered && status.Code == http.StatusNotFound && kind != "" && !t.seen[kind]:
		t.missing[kind] = true
		if len(t.seen) > 0 {
			t.leaveOut(kind)
		}
		return err
	case answered && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden):
		t.result.Failures++
		t.result.Err = err
		t.Report(fmt.Sprintf("%v; it is not asked again", err))
		return errGivenUp
	case answered && strings.Contains(status.Text, "already in use"):
		t.result.Busy++
		t.begin(kind, err)
		return err
	}
	t.result.Failures++
	if kind == "" || isUnanswered(err) {
		t.begin("", err)
		return away{err}
	}
	t.begin(kind, err)
	return err
}

// isUnanswered reports whether err is of a process that has not answered, be it
// that a proxy has done so.
func isUnanswered(err error) bool {
	if _, ok := errors.AsType[*source.UnansweredError](err); ok {
		return true
	}
	status, ok := errors.AsType[*source.StatusError](err)
	return ok && (status.Code == http.StatusBadGateway || status.Code == http.StatusServiceUnavailable || status.Code == http.StatusGatewayTimeout)
}

func (t *target) begin(kind exporter.Kind, err error) {
	if t.trouble[kind] != nil {
		t.trouble[kind].err = err
		return
	}
	t.trouble[kind] = &trouble{since: time.Now(), err: err}
	if kind == "" {
		t.result.Gaps++
	}
	t.Report(fmt.Sprintf("%v; it is asked again and again", err))
}

// recovered ends the trouble of a kind and of the target.
func (t *target) recovered(kind exporter.Kind) {
	for _, kind := range []exporter.Kind{"", kind} {
		begun := t.trouble[kind]
		if begun == nil {
			continue
		}
		delete(t.trouble, kind)
		past := time.Since(begun.since)
		what := string(kind) + " profiles are"
		if kind == "" {
			t.result.Away += past
			what = "it is"
		}
		t.Report(fmt.Sprintf("%s: %s there again after %v", t.Name(), what, past.Round(100*time.Millisecond)))
	}
}

// endTroubles accounts for what has not ended.
func (t *target) endTroubles() {
	for kind, begun := range t.trouble {
		if kind == "" {
			t.result.Away += time.Since(begun.since)
		}
		if t.result.Profiles == 0 && t.result.Err == nil {
			t.result.Err = begun.err
		}
	}
}
