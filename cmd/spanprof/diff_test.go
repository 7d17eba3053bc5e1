// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/compare"
)

// writeRun writes a profile of a run: ten seconds with samples of parse and of render.
func writeRun(t *testing.T, path string, parse, render int64) {
	t.Helper()
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        1e7,
		TimeNanos:     time.Now().UnixNano(),
		DurationNanos: 1e10,
	}
	for i, name := range []string{"main.parse", "main.render"} {
		f := &profile.Function{ID: uint64(i + 1), Name: name}
		l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		n := []int64{parse, render}[i]
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{n, n * 1e7}})
	}
	profileFile(t, path, p)
}

// writeSide writes runs into directories of their own and returns their parent.
func writeSide(t *testing.T, runs int, parse int64) string {
	t.Helper()
	dir := t.TempDir()
	for i := range runs {
		writeRun(t, filepath.Join(dir, strconv.Itoa(i), "cpu.pprof.gz"), parse+int64(i%3), 1000-int64(i%2))
	}
	return dir
}

func TestDiff(t *testing.T) {
	before, after := writeSide(t, 3, 500), writeSide(t, 3, 700)
	lists := strings.Join([]string{before + "/0", before + "/1", before + "/2"}, " ")
	for _, test := range []struct {
		name   string
		args   []string
		code   int
		stdout string // a regular expression
		stderr string
	}{
		{"directories", []string{before, after}, exitDone, `(?s)per second, 3 runs.*\n +\+39\.\d%.* main\.parse\n`, ""},
		{"a list", []string{lists, after}, exitDone, `\+39\.\d%.* main\.parse\n`, ""},
		{"JSON", []string{"-json", before, after}, exitDone, `(?s)^\{.*"functions":\s*\[\s*\{\s*"name":\s*"main.parse"`, ""},
		{"nothing moved", []string{before, before}, exitDone, `0 functions of 2 moved`, ""},
		{"one run", []string{before + "/0", after + "/0"}, exitDone, `No noise estimate`, ""},
		{"requests", []string{"-requests", "100:100,100,100", before, after}, exitDone, `per request`, ""},
		{"grew", []string{"-fail-over", "5%", before, after}, exitGrew, `main\.parse`, "grew by more than 5%, beyond noise: main.parse"},
		{"grew less", []string{"-fail-over", "60", before, after}, exitDone, `main\.parse`, ""},
		{"shrank", []string{"-fail-over", "5%", after, before}, exitDone, `-\d\d\.\d%.* main\.parse`, ""},
		{"too few to tell", []string{"-fail-over", "5%", before + "/0", after + "/0"}, exitCannotTell, `main\.parse`, "three runs a side, and there are 1 and 1"},

		{"one side", []string{before}, exitFailed, `^$`, "name two sides"},
		{"no such file", []string{before, after + "/none"}, exitFailed, `^$`, "none"},
		{"no such span", []string{"-span", "GET /", before, after}, exitFailed, `^$`, "0 samples before and 0 after meet the conditions"},
		{"endless percentage", []string{"-fail-over", "inf", before, after}, exitFailed, `^$`, "want a percentage"},
		{"bad percentage", []string{"-fail-over", "much", before, after}, exitFailed, `^$`, "want a percentage"},
		{"bad requests", []string{"-requests", "100", before, after}, exitFailed, `^$`, "two sides with a colon"},
	} {
		code, stdout, stderr := spanprof(t, append([]string{"diff"}, test.args...)...)
		if code != test.code || !regexp.MustCompile(test.stdout).MatchString(stdout) || !strings.Contains(stderr, test.stderr) {
			t.Errorf("%s: code %d, want %d, stdout\n%s\nstderr\n%s", test.name, code, test.code, stdout, stderr)
		}
	}
}

// A whole SOURCE may be left out, such as a server that is down, but not a whole side.
func TestDiffLeavesSourcesOut(t *testing.T) {
	before, after := writeSide(t, 3, 500), writeSide(t, 3, 500)
	const missing = `pyroscope+http://127.0.0.1:1?query={service_name="shop"}`
	code, stdout, stderr := spanprof(t, "diff", before+" "+missing, after)
	if code != exitDone || !strings.Contains(stdout, "3 runs with") || !strings.Contains(stderr, "left out: ") {
		t.Errorf("code %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	if code, _, stderr := spanprof(t, "diff", missing, after); code != exitFailed || !strings.Contains(stderr, "no CPU profile") {
		t.Errorf("alone: code %d, stderr %s", code, stderr)
	}
}

// Names of functions cannot control the terminal.
func TestDiffHostileNames(t *testing.T) {
	d := diff{failOver: 0.05}
	grown := compare.Change{Ratio: 2, Test: &compare.Test{Moved: true}}
	r := &compare.Result{Repeated: true}
	for range 2 * maxGrew {
		r.Functions = append(r.Functions, compare.Function{Name: "main.\x1b[2Jparse" + strings.Repeat("e", 5000), Total: grown})
	}
	text := d.verdict(r).Error()
	if strings.Contains(text, "\x1b") || len(text) > 20_000 || !strings.HasPrefix(text, "diff: 40 functions grew") {
		t.Errorf("%d bytes: %.300q", len(text), text)
	}
}

func TestList(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "a b")
	if err := os.Mkdir(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string][]string{" a\n b ": {"a", "b"}, odd: {odd}, "": {}} {
		if got := list(in); !slices.Equal(got, want) {
			t.Errorf("list(%q) = %q, want %q", in, got, want)
		}
	}
}
