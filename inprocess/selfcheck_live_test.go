// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// finding and checked are parts of the JSON.
type finding struct{ ID, Severity, Seen, Do string }

type checked struct {
	Checks   int
	Findings []finding
}

// result is the output of a process: of its page, the reason of an empty answer, and of
// otel.Handle.
type result struct {
	check checked
	head  string
	empty string
	log   string
}

// runChild runs a program in a process of its own.
func runChild(t *testing.T, name string) result {
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
	var page struct {
		Status struct {
			Message   string
			SelfCheck *checked
		}
	}
	answers := json.NewDecoder(bytes.NewReader(out))
	if err := answers.Decode(&page); err != nil || page.Status.SelfCheck == nil {
		t.Fatalf("%v in %s", err, out)
	}
	var answer struct{ Empty string }
	if answers.More() {
		if err := answers.Decode(&answer); err != nil || answer.Empty == "" {
			t.Fatalf("%v in %s", err, out)
		}
	}
	return result{*page.Status.SelfCheck, page.Status.Message, answer.Empty, stderr.String()}
}

// Each mistake is a finding with figures and advice. A certain one is in the log once, and
// an empty answer refers to it. With -v it prints the table.
func TestMistakes(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.what, func(t *testing.T) {
			t.Parallel()
			s := runChild(t, m.what)
			i := slices.IndexFunc(s.check.Findings, func(f finding) bool { return f.ID == m.id })
			if i < 0 {
				t.Fatalf("%s is not in %+v\n%s", m.id, s.check.Findings, s.log)
			}
			f := s.check.Findings[i]
			if want := map[bool]string{true: "wrong", false: "note"}[m.wrong]; f.Severity != want {
				t.Errorf("%s is %s, want %s", m.id, f.Severity, want)
			}
			for _, other := range s.check.Findings {
				if other.Severity == "wrong" && other.ID != m.id {
					t.Errorf("and %s: %s", other.ID, other.Seen)
				}
			}
			t.Logf("%s (%s)\n  %s\n  %s\n  log: %s", f.ID, f.Severity, f.Seen, f.Do, strings.TrimSpace(s.log))
			if s.empty != "" && !strings.Contains(s.empty, strings.TrimSuffix(f.Do, ".")) {
				t.Errorf("the answer is empty: %s", s.empty)
			}
			switch lines := strings.Count(s.log, "self-check"); {
			case m.logged == "" && s.log != "":
				t.Errorf("the log has %s", s.log)
			case !strings.Contains(s.log, m.logged):
				t.Errorf("%q is not in the log:\n%s", m.logged, s.log)
			case lines > 1:
				t.Errorf("%d lines of the self-check:\n%s", lines, s.log)
			}
		})
	}
}

// A program without a mistake has no findings. With the tag spanprof_public one note is about
// that.
func TestNoMistake(t *testing.T) {
	for name := range healthy {
		t.Run(name, func(t *testing.T) {
			s := runChild(t, name)
			var want []string
			public := goruntime.Unknown() != nil
			if public {
				want = []string{"labels-by-public-api"}
			}
			var got []string
			for _, f := range s.check.Findings {
				got = append(got, f.ID)
				t.Logf("%s (%s)\n  %s\n  %s", f.ID, f.Severity, f.Seen, f.Do)
			}
			if !slices.Equal(got, want) || (s.head != "") != public || s.log != "" && !public {
				t.Errorf("found %v, want %v; head %q, log %q", got, want, s.head, s.log)
			}
		})
	}
}
