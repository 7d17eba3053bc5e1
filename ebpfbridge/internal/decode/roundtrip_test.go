// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
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

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
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

// maxMemory is enough for 100,000 samples with 40 frames, a Link and 4 attributes.
const maxMemory = 512 << 20

// request returns the message that the exporter sends for p, with at least one sample.
func request(t testing.TB, p *exporter.Profile, opts ...otlp.Option) *collectorpb.ExportProfilesServiceRequest {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	received := new(collectorpb.ExportProfilesServiceRequest)
	client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(b, received)
		}
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, err
	})}
	e, err := otlp.New(append(opts, otlp.WithHTTPClient(client), otlp.WithQueue(exporter.QueueConfig{MaxAge: 1 << 62}))...)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Export(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	if err := e.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	return received
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// roundTrip fails the test unless want is the same after encoding and decoding, with
// every choice of options.
func roundTrip(t testing.TB, want *profile.Profile) {
	t.Helper()
	if len(want.Sample) == 0 {
		return // is not sent
	}
	before := canonical(want)
	timeless := window // so that the times are pprof's
	timeless.Start = time.Time{}
	for _, opts := range [][]otlp.Option{
		nil,
		{otlp.WithSpanIDAttributes(), otlp.WithCPUTime()},
	} {
		m := request(t, exporter.NewParsedProfile(timeless, want), opts...)
		profiles, err := decode.Profiles(m, maxMemory)
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
		if err != nil || p.CheckValid() != nil || !usual(p) || len(p.Sample) == 0 {
			return
		}
		if !validText(p) {
			decoded(t, request(t, exporter.NewParsedProfile(window, p)))
			return
		}
		roundTrip(t, p)
	})
}

// usual reports whether sample types and functions of p have names.
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
		random := randomProfile(rand.New(rand.NewPCG(seed, 2)))
		if len(random.Sample) == 0 {
			continue
		}
		p := exporter.NewParsedProfile(window, random)
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
		profiles, err := decode.Profiles(m, maxMemory)
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
