// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // agents send it
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/spanprof/spanprof/internal/livetest"
)

// ranSlice is what a thread of a recorded program ran: a span, or "" for none.
type ranSlice struct {
	Thread     int64
	Span       string
	Start, End int64
}

// recorded returns the messages that an eBPF agent sent of a program, and what the program
// ran.
func recorded(t *testing.T, load string) (messages []*collectorpb.ExportProfilesServiceRequest, truth []ranSlice) {
	t.Helper()
	open := func(name string) io.Reader {
		f, err := os.Open(filepath.Join("../../ebpfbridge/receiver/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		r, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for d := json.NewDecoder(open(load + ".json.gz")); d.More(); {
		var s ranSlice
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		truth = append(truth, s)
	}
	for r := bufio.NewReader(open(load + ".pb.gz")); ; {
		m := new(collectorpb.ExportProfilesServiceRequest)
		err := protodelim.UnmarshalOptions{MaxSize: 32 << 20}.UnmarshalFrom(r, m)
		if errors.Is(err, io.EOF) {
			return messages, truth
		}
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
}

// A real Collector with profilesprocessor takes what agents sent, by gRPC and a connection
// for each agent. No sample of its file is on a wrong span, and samples of
// spans have Links.
func TestCollectorProcessor(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute to build the Collector")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the Collector is ended by an interrupt")
	}
	c := startCollector(livetest.Context(t, withCollector), t, "collector/processor.yaml")
	var truth []ranSlice
	sent := 0
	for _, load := range []string{"tight", "json", "cgo", "kernel", "shared", "tight-keyed", "shared-keyed"} {
		messages, ran := recorded(t, load)
		truth = append(truth, ran...)
		conn, err := grpc.NewClient(c.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			const method = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
			if err := conn.Invoke(t.Context(), method, m, new(collectorpb.ExportProfilesServiceResponse), grpc.UseCompressor("gzip")); err != nil {
				t.Fatalf("%s: %v", load, err)
			}
			for _, r := range m.ResourceProfiles {
				for _, scope := range r.ScopeProfiles {
					for _, p := range scope.Profiles {
						for _, s := range p.Samples {
							sent += len(s.TimestampsUnixNano)
						}
					}
				}
			}
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var sum attributed
	for _, r := range written[processedRecord](t, c) {
		sum.add(t, r, truth)
	}
	t.Logf("%d samples sent: %+v", sent, sum)
	if sum.all != sent || sum.wrong != 0 || sum.right < 2000 || sum.linked != sum.right+sum.wrong+sum.atEdge || sum.ambiguous == 0 {
		t.Errorf("%+v, want all %d, 0 wrong, a Link for each with a span, and some ambiguous", sum, sent)
	}
}

// attributed counts samples by their attributes of spans.
type attributed struct{ all, right, wrong, atEdge, linked, ambiguous int }

func (sum *attributed) add(t *testing.T, r processedRecord, truth []ranSlice) {
	t.Helper()
	for _, rp := range r.ResourceProfiles {
		for _, scope := range rp.ScopeProfiles {
			for _, p := range scope.Profiles {
				for _, s := range p.Samples {
					of := map[string]string{}
					for _, i := range s.AttributeIndices {
						a := r.Dictionary.AttributeTable[i]
						of[r.Dictionary.StringTable[a.KeyStrindex]] = a.Value.StringValue + r.Dictionary.StringTable[a.Value.StringValueStrindex] + a.Value.IntValue
					}
					thread, err := strconv.ParseInt(of["thread.id"], 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					span := of["process.context.label.span_id"]
					for _, text := range s.TimestampsUnixNano {
						at, err := strconv.ParseInt(text, 10, 64)
						if err != nil {
							t.Fatal(err)
						}
						sum.all++
						if of["span_attribution"] == "ambiguous" {
							sum.ambiguous++
						}
						if span == "" {
							continue
						}
						if r.Dictionary.LinkTable[s.LinkIndex].SpanID == span {
							sum.linked++
						}
						switch ran, known := ranAt(truth, thread, at); {
						case !known:
							sum.atEdge++
						case ran == span:
							sum.right++
						default:
							sum.wrong++
						}
					}
				}
			}
		}
	}
}

// ranAt returns the span that a thread ran, if that is known.
func ranAt(truth []ranSlice, thread, at int64) (span string, known bool) {
	for _, s := range truth {
		if s.Thread == thread && s.Start <= at && at <= s.End {
			return s.Span, true
		}
	}
	return "", false
}

// processedRecord is a line of the Collector's file.
type processedRecord struct {
	ResourceProfiles []struct {
		ScopeProfiles []struct {
			Profiles []struct {
				Samples []struct {
					AttributeIndices   []int
					LinkIndex          int
					TimestampsUnixNano []string
				}
			}
		}
	}
	Dictionary struct {
		StringTable    []string
		LinkTable      []ids
		AttributeTable []struct {
			KeyStrindex int
			Value       struct {
				StringValue, IntValue string
				StringValueStrindex   int
			}
		}
	}
}
