// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/series"
	"github.com/spanprof/spanprof/exporter/otlp/internal/convert"
)

var window = exporter.Window{
	Kind:     exporter.KindCPU,
	Start:    time.Unix(1_790_000_000, 5),
	Duration: 10 * time.Second,
	Resource: resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.Int("process.pid", 42)),
}

// request returns the message of p after it has checked it.
func request(t testing.TB, p *exporter.Profile, opts ...convert.Config) *collectorpb.ExportProfilesServiceRequest {
	t.Helper()
	m, err := convert.Message(append(opts, convert.Config{})[0], p)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(m); err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	traceID = "0123456789abcdef0123456789abcdef"
	spanID  = "fedcba9876543210"
)

// cpuProfile returns one like Go's: a sample of a span, with an inlined call,
// and one of C code.
func cpuProfile() *profile.Profile {
	self, err := os.Executable()
	if err != nil {
		self = "/bin/app"
	}
	m := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x2000, File: self, BuildID: "c89b1120", HasFunctions: true}
	main := &profile.Function{ID: 1, Name: "main.main", SystemName: "main.main", Filename: "main.go", StartLine: 3}
	inlined := &profile.Function{ID: 2, Name: "main.inlined", SystemName: "main.inlined", Filename: "main.go", StartLine: 9}
	located := &profile.Location{ID: 1, Mapping: m, Address: 0x1234, Line: []profile.Line{{Function: inlined, Line: 10}, {Function: main, Line: 4}}}
	c := &profile.Location{ID: 2, Mapping: m, Address: 0x1300}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     1e7,
		Mapping:    []*profile.Mapping{m},
		Function:   []*profile.Function{main, inlined},
		Location:   []*profile.Location{located, c},
		Sample: []*profile.Sample{
			{Location: []*profile.Location{located}, Value: []int64{3, 3e7}, Label: map[string][]string{
				"trace_id": {traceID}, "span_id": {spanID}, "profile_id": {spanID}, "span_name": {"GET /"},
			}},
			{Location: []*profile.Location{c}, Value: []int64{1, 1e7}},
		},
	}
}

// attributes returns the attributes with these indices as key=value.
func attributes(m *collectorpb.ExportProfilesServiceRequest, indices []int32) []string {
	var texts []string
	for _, i := range indices {
		a := m.Dictionary.AttributeTable[i]
		v := a.Value.GetStringValue()
		if a.Value.GetBoolValue() {
			v = "true"
		}
		texts = append(texts, m.Dictionary.StringTable[a.KeyStrindex]+"="+v)
	}
	return texts
}

func profilesOf(m *collectorpb.ExportProfilesServiceRequest) []*profilespb.Profile {
	return m.ResourceProfiles[0].ScopeProfiles[0].Profiles
}

func TestMessage(t *testing.T) {
	m := request(t, exporter.NewParsedProfile(window, cpuProfile()))
	d := m.Dictionary
	text := func(i int32) string { return d.StringTable[i] }

	profiles := profilesOf(m)
	if len(profiles) != 1 {
		t.Fatalf("%d profiles, want samples/count alone", len(profiles))
	}
	p := profiles[0]
	if text(p.SampleType.TypeStrindex) != "samples" || text(p.PeriodType.UnitStrindex) != "nanoseconds" || p.Period != 1e7 ||
		p.TimeUnixNano != uint64(window.Start.UnixNano()) || p.DurationNano != uint64(window.Duration) {
		t.Errorf("got %v", p)
	}
	s := p.Samples[0]
	if diff := cmp.Diff([]int64{3}, s.Values); diff != "" {
		t.Error(diff)
	}
	if link := d.LinkTable[s.LinkIndex]; string(link.SpanId) != "\xfe\xdc\xba\x98\x76\x54\x32\x10" || len(link.TraceId) != 16 {
		t.Errorf("link %v", link)
	}
	if diff := cmp.Diff([]string{"span_name=GET /"}, attributes(m, s.AttributeIndices)); diff != "" {
		t.Errorf("attributes of the sample: %s", diff)
	}
	l := d.LocationTable[d.StackTable[s.StackIndex].LocationIndices[0]]
	if f := d.FunctionTable[l.Lines[0].FunctionIndex]; text(f.NameStrindex) != "main.inlined" || f.StartLine != 9 || l.Lines[0].Line != 10 {
		t.Errorf("first line %v of %v, want the inlined function", l.Lines[0], f)
	}
	if diff := cmp.Diff([]string{"profile.frame.type=go"}, attributes(m, l.AttributeIndices)); diff != "" {
		t.Errorf("attributes of the location: %s", diff)
	}
	c := d.LocationTable[d.StackTable[p.Samples[1].StackIndex].LocationIndices[0]]
	if diff := cmp.Diff([]string{"profile.frame.type=native"}, attributes(m, c.AttributeIndices)); diff != "" {
		t.Errorf("attributes of C's location: %s", diff)
	}
	ofMapping := attributes(m, d.MappingTable[l.MappingIndex].AttributeIndices)
	if runtime.GOOS == "linux" && !slices.ContainsFunc(ofMapping, func(a string) bool {
		hash, ok := strings.CutPrefix(a, "process.executable.build_id.htlhash=")
		return ok && len(hash) == 32
	}) {
		t.Errorf("no htlhash of the program in %q", ofMapping)
	}
	for _, want := range []string{"process.executable.build_id.gnu=c89b1120", "pprof.mapping.has_functions=true"} {
		if !slices.Contains(ofMapping, want) {
			t.Errorf("no %s in %q", want, ofMapping)
		}
	}
	if name := m.ResourceProfiles[0].Resource.Attributes[len(window.Resource.Attributes())-1]; name.Key == "" {
		t.Errorf("resource attribute without a key: %v", name)
	}
}

// A Link has the ids of a span. A profile_id of the user's own is sent. The id of a span that
// had ended is only sent beside all others.
func TestIDs(t *testing.T) {
	const own, ended = "order-4711", "00000000000000bb"
	for _, test := range []struct {
		both      bool
		profileID string
		want      []string
	}{
		{false, spanID, []string{"span_name=GET /"}},
		{true, spanID, []string{"ended_span_id=" + ended, "profile_id=" + spanID, "span_id=" + spanID, "span_name=GET /", "trace_id=" + traceID}},
		{false, own, []string{"profile_id=" + own, "span_name=GET /"}},
	} {
		p := cpuProfile()
		p.Sample[0].Label["profile_id"], p.Sample[0].Label["ended_span_id"] = []string{test.profileID}, []string{ended}
		m := request(t, exporter.NewParsedProfile(window, p), convert.Config{SpanIDAttributes: test.both})
		if got := len(m.Dictionary.LinkTable) - 1; got != 1 {
			t.Errorf("%d links, want 1", got)
		}
		if diff := cmp.Diff(test.want, attributes(m, profilesOf(m)[0].Samples[0].AttributeIndices)); diff != "" {
			t.Error(diff)
		}
	}
}

// A message for Pyroscope has no unused, double or wrong references either.
func TestPyroscopeMessage(t *testing.T) {
	m := request(t, exporter.NewParsedProfile(window, cpuProfile()), convert.Config{Series: &series.Fitter{Name: "otlp"}})
	if n := len(profilesOf(m)); n != 1 {
		t.Errorf("%d profiles, want 1", n)
	}
}

// A profile that is not Go's needs both types.
func TestCPUTime(t *testing.T) {
	p := cpuProfile()
	p.Sample[0].Value[1]++
	if n := len(profilesOf(request(t, exporter.NewParsedProfile(window, p)))); n != 2 {
		t.Errorf("%d profiles, want 2", n)
	}
}

func TestErrors(t *testing.T) {
	invalid := cpuProfile()
	invalid.Sample[0].Value = nil
	for want, p := range map[string]*exporter.Profile{
		"parse cpu profile":     exporter.NewProfile(window, []byte("no profile")),
		"cpu profile: mismatch": exporter.NewParsedProfile(window, invalid),
	} {
		if _, err := convert.Message(convert.Config{}, p); err == nil || !strings.HasPrefix(err.Error(), "convert: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("Request: %v, want %q", err, want)
		}
	}
}

// Larger messages than servers take are errors that make the queue halve the profile.
func TestTooLarge(t *testing.T) {
	for name, test := range map[string]struct {
		samples, label int
		types          int  // Pyroscope makes a pprof profile of each
		keys           bool // a key for each sample, and one value: pprof has it once, a message with each key
		want           bool
	}{
		"few":                  {1000, 10, 1, false, false},
		"samples":              {16_001, 0, 1, false, true},
		"bytes":                {100, 50_000, 1, false, true},
		"one sample of bytes":  {1, 5_000_000, 1, false, false},
		"bytes of one type":    {100, 8_000, 1, false, false},
		"bytes of four types":  {100, 8_000, 4, false, true},
		"bytes of the message": {100, 50_000, 1, true, true},
	} {
		p := cpuProfile()
		p.SampleType = slices.Repeat(p.SampleType[:1], test.types)
		s := *p.Sample[1]
		p.Sample = nil
		for i := range test.samples {
			own := s
			own.Value = make([]int64, test.types)
			key, value := "key", strings.Repeat("x", test.label)
			if test.keys {
				key += strconv.Itoa(i)
			} else {
				value += strconv.Itoa(i)
			}
			own.Label = map[string][]string{key: {value}}
			p.Sample = append(p.Sample, &own)
		}
		_, err := convert.Message(convert.Config{}, exporter.NewParsedProfile(window, p))
		retry, _ := errors.AsType[*exporter.RetryError](err)
		if got := retry != nil && retry.TooLarge; got != test.want || err != nil && !got {
			t.Errorf("%s: %v, want too large: %t", name, err, test.want)
		}
	}
	if m, err := convert.Message(convert.Config{}, exporter.NewParsedProfile(window, &profile.Profile{})); m != nil || err != nil {
		t.Errorf("a message for no samples: %v, %v", m, err)
	}
}

func TestFrameOfC(t *testing.T) {
	for file, want := range map[string]string{"main.go": "go", "indexbyte_amd64.s": "go", "": "go", "zlib.c": "native", "zlib.h": "native"} {
		p := cpuProfile()
		p.Function[0].Filename, p.Function[1].Filename = file, file
		m := request(t, exporter.NewParsedProfile(window, p))
		l := m.Dictionary.LocationTable[m.Dictionary.StackTable[profilesOf(m)[0].Samples[0].StackIndex].LocationIndices[0]]
		if diff := cmp.Diff([]string{"profile.frame.type=" + want}, attributes(m, l.AttributeIndices)); diff != "" {
			t.Errorf("%q: %s", file, diff)
		}
	}
}
