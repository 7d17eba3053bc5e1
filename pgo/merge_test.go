// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/pgocheck"
	"github.com/spanprof/spanprof/internal/wire"
	"github.com/spanprof/spanprof/pgo"
)

// totals adds up CPU time and samples by the function that ran.
func totals(p *profile.Profile) map[string][2]int64 {
	sums := map[string][2]int64{}
	for _, s := range p.Sample {
		name := s.Location[0].Line[0].Function.Name
		sum := sums[name]
		sums[name] = [2]int64{sum[0] + s.Value[0], sum[1] + s.Value[1]}
	}
	return sums
}

func merge(sources []pgo.Source, opts ...pgo.Option) (*pgo.Result, error) {
	return pgo.Merge(slices.Values(sources), opts...)
}

// What the compiler does not use is removed.
func TestStrip(t *testing.T) {
	p := cpuProfile(1e7)
	addCall(p, "main.serve", "main.hash", 600, map[string][]string{"span_id": {"0123456789abcdef"}, "span_name": {"GET /"}})
	addCall(p, "main.serve", "main.hash", 500, map[string][]string{"span_id": {"fedcba9876543210"}})
	addCall(p, "main.serve", "main.idle", 0, nil)
	p.Comments = []string{"secret"}
	before := p.String()
	result, err := merge([]pgo.Source{{Name: "p", Profile: p}})
	if err != nil {
		t.Fatal(err)
	}
	if p.String() != before {
		t.Error("the source was changed")
	}
	got := result.Profile
	if len(got.Sample) != 1 || len(got.Sample[0].Label) > 0 || len(got.Mapping) > 0 {
		t.Errorf("got %v", got)
	}
	if want := map[string][2]int64{"main.hash": {11e9, 1100}}; !cmp.Equal(totals(got), want) {
		t.Errorf("got %v, want %v", totals(got), want)
	}
	if f := got.Sample[0].Location[0].Line[0].Function; f.StartLine != 40 {
		t.Errorf("start line %d, want 40", f.StartLine)
	}
	if result.Samples != 1100 || result.CPU != 11*time.Second || len(result.Profile.Function) != 3 || result.Replicas != 1 || len(result.Warnings) > 0 || len(result.LeftOut) > 0 {
		t.Errorf("got %+v", result)
	}
	if diff := cmp.Diff([]string{"made by spanprof pgo for go build -pgo", "from shop"}, got.Comments); diff != "" {
		t.Error(diff)
	}
}

// Rates differ, time is time.
func TestRates(t *testing.T) {
	fast := cpuProfile(1e7)
	addCall(fast, "main.serve", "main.hash", 1000, nil)
	slow := cpuProfile(10309278) // 97 Hz
	addCall(slow, "main.serve", "main.sort", 970, nil)
	counted := cpuProfile(1e7) // as a server gives it back
	addCall(counted, "main.serve", "main.read", 10, nil)
	for _, s := range counted.Sample {
		s.Value = s.Value[:1]
	}
	counted.SampleType = counted.SampleType[:1]
	result, err := merge([]pgo.Source{{Replica: "a", Profile: fast}, {Replica: "a", Profile: slow}, {Replica: "a", Profile: counted}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int64{"main.hash": {1e10, 1000}, "main.sort": {970 * 10309278, 970}, "main.read": {1e8, 10}}
	if diff := cmp.Diff(want, totals(result.Profile)); diff != "" {
		t.Error(diff)
	}
	if first := result.Profile.SampleType[0]; first.Type != "cpu" {
		t.Errorf("the compiler reads %s, which mean different times", first.Type)
	}
}

func TestBalance(t *testing.T) {
	sources := []pgo.Source{
		{Name: "1", Replica: "busy", Profile: calling("main.serve", "main.hash", 6000)},
		{Name: "2", Replica: "busy", Profile: calling("main.serve", "main.hash", 3000)},
		{Name: "3", Replica: "calm", Profile: calling("main.serve", "main.sort", 50)},
		{Name: "4", Replica: "idle", Profile: cpuProfile(1e7)},
		{Name: "5", Replica: "idle", Profile: calling("main.serve", "main.read", 950)},
	}
	result, err := merge(sources)
	if err != nil {
		t.Fatal(err)
	}
	third := int64(100e9) / 3
	for name, want := range map[string][2]int64{"main.hash": {third, 9000}, "main.sort": {third, 50}, "main.read": {third, 950}} {
		if got := totals(result.Profile)[name]; got[0] < want[0]-2 || got[0] > want[0]+2 || got[1] != want[1] {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if result.Replicas != 3 {
		t.Errorf("%d replicas, want 3", result.Replicas)
	}
	if !warns(result, "calm has 50 samples, and each counts 67 times") || len(result.Warnings) != 1 {
		t.Errorf("got %q", result.Warnings)
	}
}

func TestSpan(t *testing.T) {
	p := cpuProfile(1e7)
	addCall(p, "main.serve", "main.hash", 1500, map[string][]string{"span_name": {"GET /"}})
	addCall(p, "main.serve", "main.sort", 2000, map[string][]string{"span_name": {"PUT /"}})
	addCall(p, "main.serve", "main.read", 500, nil)
	other := calling("main.serve", "main.read", 10)
	sources := []pgo.Source{{Name: "p", Profile: p}, {Name: "other", Profile: other}}
	result, err := merge(sources, pgo.WithSpan("GET /"))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string][2]int64{"main.hash": {15e9, 1500}}; !cmp.Equal(totals(result.Profile), want) {
		t.Errorf("got %v, want %v", totals(result.Profile), want)
	}
	if !warns(result, `other has no samples of a span named "GET /"`) {
		t.Errorf("got %q", result.Warnings)
	}
	_, err = merge(sources, pgo.WithSpan("GET"))
	if !errors.Is(err, pgo.ErrEmpty) || !strings.Contains(err.Error(), `there are "PUT /", "GET /"`) {
		t.Errorf("got %v", err)
	}
	_, err = merge(sources[1:], pgo.WithSpan("GET"))
	if !errors.Is(err, pgo.ErrEmpty) || !strings.Contains(err.Error(), "no sample has the label span_name") {
		t.Errorf("got %v", err)
	}
}

func warns(r *pgo.Result, text string) bool {
	return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, text) })
}

func TestWarnings(t *testing.T) {
	source := func(build, file string, n int64) pgo.Source {
		p := calling("main.serve", "main.hash", n)
		p.Mapping[0].BuildID, p.Mapping[0].File = build, file
		return pgo.Source{Name: build + " of " + file, Profile: p}
	}
	tail := cpuProfile(1e7)
	addCall(tail, "main.serve", "main.hash", 700, nil)
	for i := range int64(400) {
		addCall(tail, "main.serve", "main.rare"+strings.Repeat("e", int(i)), 1, nil)
	}
	for _, test := range []struct {
		name    string
		sources []pgo.Source
		want    string // none if empty
	}{
		{"enough", []pgo.Source{source("b1", "/app/shop", 1000)}, ""},
		{"few", []pgo.Source{source("b1", "/app/shop", 999)}, "thin: 999 samples"},
		{"long tail", []pgo.Source{{Name: "p", Profile: tail}}, "thin: about 36 % of the time"},
		{"other program", []pgo.Source{source("b1", "/app/shop", 1000), source("b2", "/app/cart", 1000)}, "of different programs, and hot calls of one are cold in the other: shop, cart"},
		{"other build", []pgo.Source{source("b1", "/app/shop", 1000), source("b2", `C:\app\shop`, 1000)}, "of 2 builds"},
		{"unknown program", []pgo.Source{source("b1", "/app/shop", 1000), source("", "", 1000)}, ""},
	} {
		result, err := merge(test.sources)
		if err != nil {
			t.Fatal(err)
		}
		if test.want == "" && len(result.Warnings) > 0 || test.want != "" && !warns(result, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, result.Warnings, test.want)
		}
	}
}

func TestBadSources(t *testing.T) {
	good := calling("main.serve", "main.hash", 1000)
	heap := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"},
	}
	old := calling("main.serve", "main.hash", 1000)
	for _, f := range old.Function {
		f.StartLine = 0
	}
	minus := calling("main.serve", "main.hash", -5)
	huge := calling("main.serve", "main.hash", 1000)
	huge.Sample[0].Value[1] = 1 << 62
	deep := calling("main.serve", "main.hash", 1000)
	deep.Location[0].Line = slices.Repeat(deep.Location[0].Line, 1001)
	for _, test := range []struct {
		name string
		bad  *profile.Profile
		want string
	}{
		{"huge", huge, "more than 73 years"},
		{"deep", deep, "1001 functions are inlined"},
		{"heap", heap, "not a CPU profile: it measures inuse_objects/count, inuse_space/bytes"},
		{"difference", minus, "values below zero"},
		{"old", old, "no function has a start line"},
	} {
		source := pgo.Source{Name: "profiles/" + test.name + ".pb.gz", Profile: test.bad}
		result, err := merge([]pgo.Source{source, {Name: "good", Profile: good}}) // the others are used
		if err != nil || result.Samples != 1000 || len(result.LeftOut) != 1 || result.Replicas != 1 {
			t.Fatalf("%s: got %+v, %v", test.name, result, err)
		}
		if text := result.LeftOut[0].Error(); !strings.HasPrefix(text, source.Name+": ") || !strings.Contains(text, test.want) {
			t.Errorf("got %q, want %q", text, test.want)
		}
		if _, err := merge([]pgo.Source{source}); err == nil || !strings.Contains(err.Error(), source.Name+": ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("alone: got %v, want %q", err, test.want)
		}
	}
	for column, of := range []string{"counts", "times"} { // the first is the most, and the sum overflows
		most := calling("main.serve", "main.hash", 1000)
		most.Sample[0].Value[column] = 1<<61 - 1
		if result, err := merge([]pgo.Source{{Name: "one", Profile: most}, {Name: "two", Profile: most}}); err != nil || len(result.LeftOut) != 1 {
			t.Errorf("%s with a sum that overflows: %+v, %v", of, result, err)
		}
	}
	if _, err := merge(nil); err == nil {
		t.Error("nothing was merged")
	}
	if _, err := merge([]pgo.Source{{Name: "idle", Profile: cpuProfile(1e7)}}); !errors.Is(err, pgo.ErrEmpty) {
		t.Errorf("only an idle replica: %v", err)
	}
	for _, n := range []int{1, -1} {
		if _, err := merge([]pgo.Source{{Name: "good", Profile: good}}, pgo.WithLeaf(n)); err == nil {
			t.Errorf("WithLeaf(%d) is taken", n)
		}
	}
}

func TestParse(t *testing.T) {
	good := calling("main.serve", "main.hash", 1000)
	if p, err := pgo.Parse(encode(t, good)); err != nil || p.String() != good.String() {
		t.Errorf("got %v, %v", p, err)
	}
	for want, data := range map[string][]byte{
		"no bytes": nil, "no columns": encode(t, &profile.Profile{}), "not a profile in the pprof format": []byte("404 page not found\n"),
		wire.ErrTooLarge.Error(): bytes.Repeat([]byte{2<<3 | 2, 0}, 3<<20),
	} {
		if p, err := pgo.Parse(data); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, pgo.ErrEmpty) != (data == nil) {
			t.Errorf("got %v, %v, want %q", p, err, want)
		}
	}
}

// Scaled counts may be zero. The number of samples then follows from their time.
func TestScaledToZero(t *testing.T) {
	p := calling("main.serve", "main.hash", 1000)
	p.Sample[0].Value[0] = 0
	result, err := merge([]pgo.Source{{Name: "p", Profile: p}})
	if err != nil || result.Samples != 1000 {
		t.Errorf("got %+v, %v, want 1000 samples", result, err)
	}
	p.Sample[0].Value[1] = p.Period / 2
	if result, err = merge([]pgo.Source{{Name: "p", Profile: p}}); err != nil || result.Samples != 1 {
		t.Errorf("less than a period: got %+v, %v, want 1 sample", result, err)
	}
	p.Period = 0
	if result, err = merge([]pgo.Source{{Name: "p", Profile: p}}); err != nil || result.Samples != 1 {
		t.Errorf("without a period: got %+v, %v, want 1 sample", result, err)
	}
}

// A call from a line to itself keeps its weight, with or without addresses. Other locations
// have no address, so that builds add up.
func TestRecursion(t *testing.T) {
	p := calling("main.serve", "main.hash", 1000)
	leaf := p.Location[0]
	for _, address := range []uint64{0, 0x400100} {
		caller := *leaf
		caller.ID, caller.Address = 9, address
		p.Location = append(p.Location[:3], &caller)
		p.Sample = append(p.Sample[:1], &profile.Sample{Location: []*profile.Location{leaf, &caller, p.Location[1]}, Value: []int64{500, 5e9}})
		result, err := merge([]pgo.Source{{Name: "p", Profile: p}})
		if err != nil {
			t.Fatal(err)
		}
		got := pgocheck.CallsOf(result.Profile, 0).Weight
		want := map[pgocheck.Call]int64{{Caller: "main.serve", Callee: "main.hash", Offset: 3}: 10e9, {Caller: "main.hash", Callee: "main.hash", Offset: 5}: 5e9}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if n := len(result.Profile.Location); n != 4 {
			t.Errorf("%d locations, want 4", n)
		}
	}
	for _, lines := range [][]profile.Line{{{Function: leaf.Line[0].Function, Line: 46}}, nil} { // another line, and none
		p.Location[3].Line = lines
		result, err := merge([]pgo.Source{{Name: "p", Profile: p}})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range result.Profile.Location {
			if l.Address != 0 {
				t.Errorf("%v has the address %d", l.Line, l.Address)
			}
		}
	}
}

func TestWriteFile(t *testing.T) {
	result, err := merge([]pgo.Source{{Name: "p", Profile: calling("main.serve", "main.hash", 1000)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := result.WriteFile("default.pgo"); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile("default.pgo")
	if err != nil {
		t.Fatal(err)
	}
	if err := result.WriteFile("default.pgo"); err != nil {
		t.Error(err)
	}
	if again, err := os.ReadFile("default.pgo"); err != nil || !bytes.Equal(first, again) {
		t.Errorf("the same profile makes another file: %v", err)
	}
	if err := errors.Join(os.WriteFile("shared.pgo", nil, 0o600), os.Symlink("shared.pgo", "link.pgo"), result.WriteFile("link.pgo")); err != nil {
		t.Fatal(err)
	}
	if shared, err := os.ReadFile("shared.pgo"); err != nil || !bytes.Equal(first, shared) {
		t.Errorf("the file behind a link is not written: %v", err)
	}
	if info, err := os.Lstat("link.pgo"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is replaced: %v", err)
	}
}

func FuzzMerge(f *testing.F) {
	var b bytes.Buffer
	if err := calling("main.serve", "main.hash", 10).WriteUncompressed(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := pgo.Parse(data)
		if err != nil {
			return
		}
		result, err := merge([]pgo.Source{{Name: "a", Profile: p}, {Name: "b", Profile: p}}, pgo.WithLeaf(2))
		if err != nil {
			return
		}
		if err := result.Profile.CheckValid(); err != nil {
			t.Error(err)
		}
		for _, s := range result.Profile.Sample {
			if s.Value[0] <= 0 {
				t.Errorf("a sample of %d ns", s.Value[0])
			}
		}
	})
}
