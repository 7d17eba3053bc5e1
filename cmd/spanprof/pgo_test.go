// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/pgo"
)

// cpuFile writes a CPU profile with n samples of callee, which main.main calls, for
// spans of a name.
func cpuFile(t *testing.T, path, callee, span string, n int64) string {
	t.Helper()
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     1e7,
		Function: []*profile.Function{
			{ID: 1, Name: callee, SystemName: callee, Filename: "/src/tiny/main.go", StartLine: 9},
			{ID: 2, Name: "main.main", SystemName: "main.main", Filename: "/src/tiny/main.go", StartLine: 5},
		},
	}
	p.Location = []*profile.Location{
		{ID: 1, Line: []profile.Line{{Function: p.Function[0], Line: 9}}},
		{ID: 2, Line: []profile.Line{{Function: p.Function[1], Line: 5}}},
	}
	if n > 0 {
		p.Sample = []*profile.Sample{{Location: p.Location, Value: []int64{n, n * 1e7}, Label: map[string][]string{"span_name": {span}}}}
	}
	return profileFile(t, path, p)
}

func profileFile(t *testing.T, path string, p *profile.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, path, b.Bytes())
}

func writeFile(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// outcome is what a run of the command should do.
type outcome struct {
	code           int
	stdout, stderr string // what stands in them
}

func (want outcome) check(t *testing.T, args ...string) {
	t.Helper()
	code, stdout, stderr := spanprof(t, args...)
	if code != want.code || !strings.Contains(stdout, want.stdout) || !strings.Contains(stderr, want.stderr) || want.stderr == "" && stderr != "" {
		t.Errorf("spanprof %q: code %d, stdout %q, stderr %q; want %+v", args, code, stdout, stderr, want)
	}
}

func readPGO(t *testing.T, path string) *profile.Profile {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pgo.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPGO(t *testing.T) {
	t.Chdir(t.TempDir())
	cpuFile(t, "a/1.pprof.gz", "main.hash", "GET /", 3000)
	cpuFile(t, "a/2.pprof.gz", "main.hash", "GET /", 0) // idle
	b := cpuFile(t, "b.pb.gz", "main.sort", "PUT /", 1000)
	outcome{exitDone, "default.pgo: 4000 samples of 3 functions, 40s of CPU time, from 2 replicas", ""}.check(t, "pgo", "a", b)
	outcome{exitDone, "4000 samples", ""}.check(t, "pgo", "-leaf", "5", "a", b)
	times := map[string]int64{}
	for _, s := range readPGO(t, "default.pgo").Sample {
		times[s.Location[0].Line[0].Function.Name] = s.Value[0]
	}
	outcome{exitDone, "again.pgo: 4000 samples", ""}.check(t, "pgo", "-o", "again.pgo", ".") // without default.pgo
	if times["main.hash"] != 20e9 || times["main.sort"] != 20e9 {
		t.Errorf("balanced: got %v", times)
	}
	outcome{exitDone, "out.pgo: 1000 samples of 2 functions", `warning: a has no samples of a span named "PUT /"`}.check(t, "pgo", "-o", "out.pgo", "-span", "PUT /", "a", b)
	outcome{exitFailed, "", `no samples of a span named "POST /"; there are "GET /", "PUT /"`}.check(t, "pgo", "-o", "none.pgo", "-span", "POST /", "a", b)
	if _, err := os.Stat("none.pgo"); err == nil {
		t.Error("a profile without samples was written")
	}
	outcome{exitDone, "thin.pgo: 3 samples", "warning: the profile is thin: 3 samples"}.check(t, "pgo", "-o", "thin.pgo", cpuFile(t, "few.pprof", "main.hash", "", 3))
}

// A file counts once, also under two names, and the file to write only if it is named.
func TestPGOCountsOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	a := cpuFile(t, "before/1.pprof", "main.hash", "", 2000)
	if err := os.Symlink(a, "link.pprof"); err != nil {
		t.Fatal(err)
	}
	outcome{exitDone, "merged.pprof: 2000 samples", "left out: link.pprof: another SOURCE has it too"}.check(t, "pgo", "-o", "before/merged.pprof", "before", "link.pprof")
	outcome{exitDone, "merged.pprof: 2000 samples", "left out: before/merged.pprof: it is the file to write"}.check(t, "pgo", "-o", "before/merged.pprof", "before")
	outcome{exitDone, "merged.pprof: 4000 samples", ""}.check(t, "pgo", "-o", "before/merged.pprof", a, "before/merged.pprof")
}

// A profile from elsewhere moves no cursor and fills no screen.
func TestPGOHostileNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for build, path := range []string{"1.pprof", "2.pprof"} {
		p := readPGO(t, cpuFile(t, path, "main.hash", "", 2000))
		p.Mapping = []*profile.Mapping{{ID: 1, File: "/bin/\x1b[2J\nspanprof: all is well" + strings.Repeat("x", 1<<16), BuildID: strconv.Itoa(build)}}
		for _, l := range p.Location {
			l.Mapping = p.Mapping[0]
		}
		profileFile(t, path, p)
	}
	code, _, stderr := spanprof(t, "pgo", "1.pprof", "2.pprof")
	if code != exitDone || !strings.HasPrefix(stderr, "spanprof: warning: the profiles are of 2 builds") || strings.Contains(stderr, "\x1b") || len(stderr) > 10_000 || strings.Count(stderr, "\n") != 1 {
		t.Errorf("code %d, stderr %.500q", code, stderr)
	}
}

func TestPGOBadSources(t *testing.T) {
	t.Chdir(t.TempDir())
	good := cpuFile(t, "good.pprof", "main.hash", "GET /", 2000)
	heap := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}},
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"},
	}
	for want, bad := range map[string]string{
		"want cpu":     profileFile(t, "heap.pprof", heap),
		"no such file": "absent.pprof",
	} {
		outcome{exitDone, "2000 samples", bad}.check(t, "pgo", good, bad)
		code, _, stderr := spanprof(t, "pgo", bad)
		if code != exitFailed || !strings.Contains(stderr, want) || !strings.Contains(stderr, "there is no profile to merge") {
			t.Errorf("%s alone: code %d, %s", bad, code, stderr)
		}
	}
	outcome{exitDone, "2000 samples", "old.pprof has no samples"}.check(t, "pgo", good, cpuFile(t, "old.pprof", "main.hash", "", 0))
	outcome{exitFailed, "", "no samples"}.check(t, "pgo", "old.pprof")
}

func TestPGOUsage(t *testing.T) {
	for _, test := range []struct {
		want string
		args []string
	}{
		{"name a SOURCE", nil},
		{"the least number of frames is 2", []string{"-leaf", "1", "x"}},
		{"write /absent/default.pgo: ", []string{"-o", "/absent/default.pgo", profilesDir + "cpu0.pprof.gz"}},
		{"it is not a regular file", []string{"-o", ".", profilesDir + "cpu0.pprof.gz"}},
		{"main.go exists and is no profile", []string{"-o", "main.go", "x"}},
		{"-check PROGRAM", []string{"-check"}},
	} {
		outcome{exitFailed, "", test.want}.check(t, append([]string{"pgo"}, test.args...)...)
	}
}
