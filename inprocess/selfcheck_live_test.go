// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/internal/selfcheck"
)

// mistakeVariable is the environment variable with the name of a program.
const mistakeVariable = "SPANPROF_TEST_MISTAKE"

func init() { children[mistakeVariable] = makeMistake }

// makeMistake is the main function of a process with a mistake. It prints the log of its page.
func makeMistake(name string) {
	report.Synchronous(otel.Handle)
	selfcheck.EnoughCPU = 10 * time.Millisecond // one sample
	p := &program{Context: context.Background()}
	mistakes[slices.IndexFunc(mistakes, func(m mistake) bool { return m.what == name })].run(p)
	must(p.Flush(p))
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/log?format=json", http.NoBody))
	fmt.Println(w.Body)
	_ = p.Shutdown(p)
}

// result is a part of the log's JSON, and the output of otel.Handle.
type result struct {
	Status struct {
		Message   string
		SelfCheck struct {
			Findings []struct{ ID, Severity, Seen, Do string }
		}
	}
	log string
}

// runChild runs a program in a process of its own.
func runChild(t *testing.T, name string) (r result) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), executable)
	cmd.Env = append(os.Environ(), mistakeVariable+"="+name, "OTEL_SERVICE_NAME=", "OTEL_RESOURCE_ATTRIBUTES=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	r.log = stderr.String()
	return r
}

// Each mistake is a finding, and no other is wrong. A certain one is in the log once. A program
// without a mistake has no findings. With the tag spanprof_public one note is about that.
func TestMistakes(t *testing.T) {
	public := goruntime.Unknown() != nil
	for _, m := range mistakes {
		t.Run(m.what, func(t *testing.T) {
			t.Parallel()
			s, found := runChild(t, m.what), m.id == ""
			for _, f := range s.Status.SelfCheck.Findings {
				switch {
				case m.id != "" && f.ID == m.id:
					found = (f.Severity == "wrong") == m.wrong
				case f.Severity == "wrong", m.id == "" && (!public || f.ID != "labels-by-public-api"):
					t.Errorf("and %s: %s", f.ID, f.Seen)
				}
			}
			if !found {
				t.Errorf("%s is not in %+v", m.id, s.Status.SelfCheck.Findings)
			}
			if m.id == "" && (s.Status.Message != "") != public {
				t.Errorf("head %q", s.Status.Message)
			}
			if lines := strings.Count(s.log, "self-check"); lines > 1 || m.logged == "" && s.log != "" && !public || !strings.Contains(s.log, m.logged) {
				t.Errorf("want %q once in the log:\n%s", m.logged, s.log)
			}
		})
	}
}
