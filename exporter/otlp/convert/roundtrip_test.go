// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"math/rand/v2"
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
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
	"github.com/spanprof/spanprof/exporter/otlp/internal/conformance"
)

var window = exporter.Window{
	Kind:     exporter.KindCPU,
	Start:    time.Unix(1_790_000_000, 5),
	Duration: 10 * time.Second,
	Resource: resource.NewWithAttributes("https://opentelemetry.io/schemas/1.43.0",
		attribute.String("service.name", "shop"),
		attribute.Int("process.pid", 42),
		attribute.Float64("share", 0.5),
		attribute.Bool("yes", true),
		attribute.StringSlice("process.command_args", []string{"shop", "-v"}),
		attribute.Int64Slice("numbers", []int64{1, 2}),
		attribute.BoolSlice("bools", []bool{true, false}),
		attribute.Float64Slice("floats", []float64{1.5}),
		attribute.ByteSlice("bytes", []byte{1, 2}),
		attribute.Map("map", attribute.Int("a", 1), attribute.String("b", "c")),
		attribute.KeyValue{Key: "mixed", Value: attribute.SliceValue(attribute.IntValue(1), attribute.StringValue("a"))},
		attribute.KeyValue{Key: "empty"},
	),
}

// request converts p, checks the message, and returns it as a receiver sees it.
func request(t testing.TB, p *exporter.Profile, opts ...convert.Option) *collectorpb.ExportProfilesServiceRequest {
	t.Helper()
	c, err := convert.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Request(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := conformance.Check(m); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	received := new(collectorpb.ExportProfilesServiceRequest)
	if err := proto.Unmarshal(b, received); err != nil {
		t.Fatal(err)
	}
	return received
}

// roundTrip fails the test unless want is the same after the way to OTLP and
// back, with every choice of options.
func roundTrip(t testing.TB, want *profile.Profile) {
	t.Helper()
	before := canonical(want)
	timeless := window // so that the times are pprof's
	timeless.Start = time.Time{}
	for _, opts := range [][]convert.Option{
		nil,
		{convert.WithSpanIDs(convert.Attributes)},
		{convert.WithSpanIDs(convert.LinksAndAttributes), convert.WithCPUTime()},
	} {
		m := request(t, exporter.NewParsedProfile(timeless, want), opts...)
		profiles, err := convert.Profiles(m)
		if err != nil {
			t.Fatal(err)
		}
		if len(profiles) != 1 {
			t.Fatalf("%d profiles, want 1", len(profiles))
		}
		p, err := profiles[0].Parsed()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckValid(); err != nil {
			t.Fatal(err)
		}
		for _, got := range []*profile.Profile{p, reread(t, p)} {
			if after := canonical(got); after != before {
				t.Fatalf("(-pprof +after OTLP):\n%s", cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")))
			}
		}
		if profiles[0].Kind() != window.Kind || !profiles[0].Resource().Equal(window.Resource) ||
			profiles[0].Resource().SchemaURL() != window.Resource.SchemaURL() {
			t.Fatalf("kind %q, resource %v", profiles[0].Kind(), profiles[0].Resource())
		}
	}
	if after := canonical(want); after != before {
		t.Fatalf("the profile was changed: %s", cmp.Diff(before, after))
	}
}

func TestRoundTripOfRandomProfiles(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	for seed := range uint64(100) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			p := randomProfile(rand.New(rand.NewPCG(seed, 0)))
			roundTrip(t, p)
		})
	}
}

func FuzzRoundTrip(f *testing.F) {
	for seed := range uint64(20) {
		var b bytes.Buffer
		if err := randomProfile(rand.New(rand.NewPCG(seed, 1))).WriteUncompressed(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := profile.ParseUncompressed(data)
		if err != nil || p.CheckValid() != nil || !usual(p) {
			return
		}
		if !validText(p) {
			decode(t, request(t, exporter.NewParsedProfile(window, p)))
			return
		}
		roundTrip(t, p)
	})
}

// usual reports whether p is such that the conformance check can hold: names
// for sample types and functions.
func usual(p *profile.Profile) bool {
	if len(p.SampleType) == 0 {
		return false
	}
	types := p.SampleType
	if p.PeriodType != nil && *p.PeriodType != (profile.ValueType{}) {
		types = append(slices.Clip(types), p.PeriodType)
	}
	for _, v := range types {
		if v.Type == "" {
			return false
		}
	}
	for _, f := range p.Function {
		if f.Name == "" && f.SystemName == "" && f.Filename == "" {
			return false
		}
	}
	return true
}

func FuzzProfiles(f *testing.F) {
	for seed := range uint64(20) {
		p := exporter.NewParsedProfile(window, randomProfile(rand.New(rand.NewPCG(seed, 2))))
		b, err := proto.Marshal(request(f, p))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(collectorpb.ExportProfilesServiceRequest)
		if proto.Unmarshal(data, m) != nil {
			return
		}
		profiles, err := convert.Profiles(m)
		if err != nil {
			return
		}
		for _, e := range profiles {
			p, err := e.Parsed()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.CheckValid(); err != nil {
				t.Fatal(err)
			}
			reread(t, p)
		}
	})
}
