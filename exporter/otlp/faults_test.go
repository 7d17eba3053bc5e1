// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/internal/report"
)

func partial(rejected int64, message string) answerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		answer(w, &collectorpb.ExportProfilesServiceResponse{
			PartialSuccess: &collectorpb.ExportProfilesPartialSuccess{RejectedProfiles: rejected, ErrorMessage: message},
		})
	}
}

// errorLog has the reported errors.
type errorLog struct {
	mu   sync.Mutex
	errs []error
}

func (l *errorLog) Handle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

func (l *errorLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.errs) == 0 {
		return ""
	}
	return errors.Join(l.errs...).Error() + "\n"
}

// Package httpsend judges statuses. Here are the answers that only OTLP has, and one status.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name     string
		answer   answerFunc
		exported uint64
		reported string
	}{
		{"400", status(400, "no such version"), 0, "400 Bad Request: no such version"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.invalid/", http.StatusTemporaryRedirect)
		}, 0, "to https://elsewhere.invalid/: redirects are not followed"},
		{"login page", status(200, "<html>\n<title>Log in</title>", "Content-Type", "text/html; charset=utf-8"), 0, "not as OTLP does: is the endpoint right? The answer is text/html: <html> <title>Log in</title>\n"},
		{"partial success", partial(1, "no\r\nCPU here"), 0, "partial success: 1 profile(s) rejected: no CPU here"},
		{"warning", partial(0, "deprecated"), 1, "profiles taken, with a warning: deprecated"},
		{"empty", status(http.StatusOK, ""), 1, ""},
		{"no content", status(http.StatusNoContent, "", "Content-Type", "text/html"), 1, ""},
		{"JSON", status(http.StatusOK, "{}", "Content-Type", "application/json"), 1, ""},
		{"truncated", status(http.StatusOK, "\x0a\x7fcut off", "Content-Type", "application/x-protobuf"), 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := new(errorLog)
			t.Cleanup(report.Synchronous(log.Handle))
			e := newExporter(t, &backend{t: t, answer: tt.answer})
			export(t, e, 1)
			if err := e.Shutdown(t.Context()); (err == nil) != (tt.exported == 1) {
				t.Errorf("Shutdown: %v", err)
			}
			if s := e.Status(); s.Exported != tt.exported || s.Lost["rejected"] != 1-tt.exported {
				t.Errorf("got %+v, want %d exported", s, tt.exported)
			}
			if got := log.String(); !strings.Contains(got, tt.reported) || tt.reported == "" && got != "" {
				t.Errorf("reported %q, want %q", got, tt.reported)
			}
		})
	}
}
