// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // agents send it
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/spanprof/spanprof/internal/livetest"
)

// recorded returns the messages that an eBPF agent sent of a program.
func recorded(t *testing.T, load string) (messages []*collectorpb.ExportProfilesServiceRequest) {
	t.Helper()
	f, err := os.Open(filepath.Join("../../ebpfbridge/receiver/testdata", load+".pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := bufio.NewReader(unzipped); ; {
		m := new(collectorpb.ExportProfilesServiceRequest)
		err := protodelim.UnmarshalOptions{MaxSize: 32 << 20}.UnmarshalFrom(r, m)
		if errors.Is(err, io.EOF) {
			return messages
		}
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
}

// A real Collector with profilesprocessor takes what agents sent, by gRPC and a connection
// for each agent. No sample is lost, and samples of spans have Links. TestSplit of the
// processor compares spans with what the threads ran.
func TestCollectorProcessor(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute to build the Collector")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the Collector is ended by an interrupt")
	}
	c := startCollector(livetest.Context(t, withCollector), t, "collector/processor.yaml")
	sent := 0
	for _, load := range []string{"json", "tight-keyed"} {
		conn, err := grpc.NewClient(c.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range recorded(t, load) {
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
	written, linked := 0, 0
	for _, r := range c.stop(t) {
		for _, s := range r.samples {
			written += len(s.TimestampsUnixNano)
			if s.LinkIndex != 0 {
				linked += len(s.TimestampsUnixNano)
			}
		}
	}
	if t.Logf("%d samples sent, %d with Links", sent, linked); written != sent || linked == 0 || linked == sent {
		t.Errorf("%d samples written, %d with Links; want all %d, some with Links", written, linked, sent)
	}
}
