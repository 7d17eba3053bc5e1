// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package viewer_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/viewer"
)

// function is a row of a table of functions.
type function struct {
	File        string
	Self, Total int64
	Lines       []int64
}

// functionsOf returns the functions of a graph by name.
func functionsOf(g *flame.Graph) map[string]function {
	all := map[string]function{}
	f := g.Functions
	for i, name := range f.Name {
		all[g.Texts[name]] = function{g.Texts[f.File[i]], f.Self[i], f.Total[i], f.Lines[i]}
	}
	return all
}

// topOf returns the self and the total of each row of go tool pprof -top.
func topOf(t *testing.T, file string, flags ...string) map[string][2]int64 {
	t.Helper()
	args := append([]string{"tool", "pprof", "-top", "-unit=ms", "-nodefraction=0", "-nodecount=100000", "-symbolize=none", `-hide=^runtime\.asyncPreempt`}, append(flags, file)...)
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	ns := func(text string) int64 {
		ms, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return int64(ms * float64(time.Millisecond))
	}
	rows := map[string][2]int64{}
	for _, m := range regexp.MustCompile(`(?m)^ *([0-9.]+)(?:ms)? +[0-9.]+% +[0-9.]+% +([0-9.]+)(?:ms)? +[0-9.]+%  (.+)$`).FindAllStringSubmatch(string(out), -1) {
		name := strings.TrimSuffix(m[3], " (inline)")
		name = strings.TrimSuffix(name, " (partial-inline)")
		sum := rows[name]
		rows[name] = [2]int64{sum[0] + ns(m[1]), sum[1] + ns(m[2])}
	}
	if len(rows) == 0 {
		t.Fatalf("no rows in\n%s", out)
	}
	return rows
}

// The sums agree with go tool pprof on the downloaded profile: by function, by line, and in the
// stacks with one function.
func TestSumsOfPprof(t *testing.T) {
	s := newStore(t)
	b := newProfileBuilder()
	b.add(7, nil, "runtime.asyncPreempt2", "runtime.asyncPreempt", "main.hot", "main.serve", "main.main")
	b.add(20, nil, "main.hot", "main.serve", "main.main")
	b.add(11, nil, "main.leaf", "main.walk", "main.leaf", "main.walk", "main.main")
	b.add(5, nil, "main.walk", "main.walk", "main.serve", "main.main")
	b.add(3, nil, "main.other", "main.main")
	// One function has samples at several lines.
	for i, sample := range b.profile.Sample {
		for _, l := range slices.Clone(sample.Location) {
			other := *l
			other.ID = uint64(len(b.profile.Location) + 1)
			other.Address += uint64(1000 * (i + 1))
			other.Line = slices.Clone(l.Line)
			other.Line[0].Line += int64(i % 2)
			b.profile.Location = append(b.profile.Location, &other)
			sample.Location[slices.Index(sample.Location, l)] = &other
		}
	}
	export(t, s, nil, exporter.KindCPU, b.profile)
	h := viewer.Handler(s)
	file := filepath.Join(t.TempDir(), "profile.pb.gz")
	if err := os.WriteFile(file, get(t, h, target("/profile", "query", ".cpu")).Body.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	a := profileOf(t, h, ".cpu")

	functions, lines := map[string][2]int64{}, map[string][2]int64{}
	for name, f := range functionsOf(a.Flame) {
		functions[name] = [2]int64{f.Self, f.Total}
		for line := range slices.Chunk(f.Lines, 3) {
			lines[fmt.Sprintf("%s %s:%d", name, f.File, line[0])] = [2]int64{line[1], line[2]}
		}
	}
	if diff := cmp.Diff(topOf(t, file), functions); diff != "" {
		t.Errorf("functions (-go tool pprof +page):\n%s", diff)
	}
	if diff := cmp.Diff(topOf(t, file, "-lines"), lines); diff != "" {
		t.Errorf("lines (-go tool pprof +page):\n%s", diff)
	}
	for _, name := range []string{"main.walk", "main.hot", "main.leaf"} {
		focus := focused(a.Flame, name)
		for f, sums := range topOf(t, file, "-focus=^"+regexp.QuoteMeta(name)+"$") {
			if focus[f] != sums {
				t.Errorf("focus on %s: %s has %v, go tool pprof %v", name, f, focus[f], sums)
			}
		}
	}
}

// focused returns the self and the total of each function in the stacks with one function. Like
// the page, it has only the arrays of a graph.
func focused(g *flame.Graph, name string) map[string][2]int64 {
	sums := map[string][2]int64{}
	for node := range g.Len() {
		self := g.Self[node]
		var stack []string
		for at := int32(node); at > 0; at -= g.Parent[at] {
			stack = append(stack, g.Name(int(at)))
		}
		if self == 0 || !slices.Contains(stack, name) {
			continue
		}
		leaf := stack[0]
		slices.Sort(stack)
		for _, f := range slices.Compact(stack) {
			sum := sums[f]
			sum[1] += self
			if f == leaf {
				sum[0] += self
			}
			sums[f] = sum
		}
	}
	return sums
}
