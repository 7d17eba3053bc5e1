// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/client"
	"github.com/spanprof/spanprof/exporter"
)

// trouble is a failure that lasts.
type trouble struct {
	since time.Time
	err   error
}

// fail counts an error of a kind, and reports the first of several. It returns err, or
// errGivenUp if another request makes no sense. The caller holds t.mu.
func (t *target) fail(ctx context.Context, kind exporter.Kind, err error) error {
	if ctx.Err() != nil {
		return err // not a fault of the target
	}
	t.covered[kind].failed = true
	status, answered := errors.AsType[*client.StatusError](err)
	switch {
	case answered && status.Code == http.StatusNotFound && !t.seen[kind]:
		t.covered[kind].failed = false
		t.missing[kind] = true
		switch {
		case len(t.seen) > 0:
			t.leaveOut(kind)
		case len(t.missing) == len(t.kinds):
			t.result.Failures++
			t.begin("", &client.StatusError{Name: t.Name(), Status: "404 Not Found", Code: http.StatusNotFound, Text: "it has no profiles"})
		}
		return err
	case answered && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden):
		if t.result.Err == nil {
			t.result.Failures++
			t.result.Err = err
			t.Report(fmt.Sprintf("%v; there are no more requests to it", err))
		}
		t.giveUp()
		return errGivenUp
	case answered && strings.Contains(status.Text, "already in use"):
		t.result.Busy++
		t.begin(kind, err)
		return err
	}
	t.result.Failures++
	if isAway(err) {
		kind = ""
	}
	t.begin(kind, err)
	return err
}

// isAway reports whether err means that the whole process is away, also if a proxy has
// answered. A request that times out is slow itself.
func isAway(err error) bool {
	if _, ok := errors.AsType[*client.UnansweredError](err); ok {
		return !errors.Is(err, context.DeadlineExceeded)
	}
	status, ok := errors.AsType[*client.StatusError](err)
	return ok && slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status.Code)
}

// begin notes a failure of a kind, or of the target if kind is "".
func (t *target) begin(kind exporter.Kind, err error) {
	if t.trouble[kind] != nil {
		t.trouble[kind].err = err
		return
	}
	t.trouble[kind] = &trouble{since: time.Now(), err: err}
	t.Report(fmt.Sprintf("%v; it is retried", err))
}

// recovered ends the trouble of a kind and of the target. The caller holds t.mu.
func (t *target) recovered(kind exporter.Kind) {
	for _, kind := range []exporter.Kind{"", kind} {
		begun := t.trouble[kind]
		if begun == nil {
			continue
		}
		delete(t.trouble, kind)
		what := string(kind) + " profiles are"
		if kind == "" {
			what = "it is"
		}
		t.Report(fmt.Sprintf("%s: %s there again after %v", t.Name(), what, time.Since(begun.since).Round(100*time.Millisecond)))
	}
}

// endTroubles counts what has not ended.
func (t *target) endTroubles() {
	for _, begun := range t.trouble {
		if t.result.Profiles == 0 && t.result.Err == nil {
			t.result.Err = begun.err
		}
	}
	for _, kind := range t.kinds {
		if c := t.covered[kind]; c.failed && t.result.Profiles > 0 {
			t.result.gap(kind, earlier(time.Now(), t.end).Sub(c.until))
		}
	}
}
