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

	"github.com/spanprof/spanprof/internal/loudskip"
	"github.com/spanprof/spanprof/internal/selfcheck"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// finding and checked are those of the JSON.
type finding struct{ ID, Severity, Seen, Do string }

type checked struct {
	Checks   int
	Findings []finding
}

// heard is what a process said.
type heard struct {
	check checked
	head  string
	log   string
}

// hearOf runs a process that makes a mistake and returns what it says.
func hearOf(t *testing.T, name, variable string) heard {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), executable)
	cmd.Env = append(os.Environ(), mistakeVariable+"="+name, "OTEL_SERVICE_NAME=", "OTEL_RESOURCE_ATTRIBUTES=")
	if variable != "" {
		cmd.Env = append(cmd.Env, variable+"=true")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	var answered struct {
		Status struct {
			Message   string
			SelfCheck *checked
		}
	}
	if err := json.Unmarshal(out, &answered); err != nil || answered.Status.SelfCheck == nil {
		t.Fatalf("%v in %s", err, out)
	}
	return heard{*answered.Status.SelfCheck, answered.Status.Message, stderr.String()}
}

// Each mistake is told by a finding, with figures and with what to do, and those that are
// wrong for certain by the log. Run it with -v for the table.
func TestMistakes(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.what, func(t *testing.T) {
			if m.id == "spans-end-elsewhere" && publicBuild() {
				loudskip.Test(t, "by the public API alone no such end is counted")
			}
			t.Parallel()
			s := hearOf(t, m.what, m.variable)
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

// A program without a mistake hears of nothing.
func TestNoMistake(t *testing.T) {
	s := hearOf(t, healthy, "")
	if publicBuild() {
		if s.head == "" || len(s.check.Findings) != 1 || s.check.Findings[0].ID != "labels-by-public-api" {
			t.Errorf("head %q, found %+v", s.head, s.check.Findings)
		}
		s.head, s.check.Findings = "", nil
	}
	if len(s.check.Findings) > 0 || s.check.Checks != selfcheck.Checks || s.head != "" || s.log != "" {
		t.Errorf("checks %d, found %+v, head %q, log %q", s.check.Checks, s.check.Findings, s.head, s.log)
	}
}

// publicBuild reports whether the public API alone labels goroutines in this build.
func publicBuild() bool { return spanlabels.Unknown() != nil }
