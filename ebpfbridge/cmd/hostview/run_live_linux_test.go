// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// message has processes with a record each, of two samples in the kernel with the labels of a
// span.
func message(processes int) *collectorpb.ExportProfilesServiceRequest {
	texts := []string{"", "samples", "count", "cpu", "nanoseconds", "process.context.label.span_name", "process.context.label.profile_id", "process.context.label.span_id", "GET /cart", "00f067aa0ba902b7", "main.work", "vfs_read", "profile.frame.type", "kernel"}
	ref := func(i int32) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValueStrindex{StringValueStrindex: i}}
	}
	m := &collectorpb.ExportProfilesServiceRequest{Dictionary: &profilespb.ProfilesDictionary{
		StringTable:    texts,
		AttributeTable: []*profilespb.KeyValueAndUnit{{}, {KeyStrindex: 5, Value: ref(8)}, {KeyStrindex: 6, Value: ref(9)}, {KeyStrindex: 7, Value: ref(9)}, {KeyStrindex: 12, Value: ref(13)}},
		FunctionTable:  []*profilespb.Function{{}, {NameStrindex: 10}, {NameStrindex: 11}},
		MappingTable:   []*profilespb.Mapping{{}},
		LocationTable:  []*profilespb.Location{{}, {Address: 1, Lines: []*profilespb.Line{{FunctionIndex: 1}}}, {Address: 2, Lines: []*profilespb.Line{{FunctionIndex: 2}}, AttributeIndices: []int32{4}}},
		StackTable:     []*profilespb.Stack{{}, {LocationIndices: []int32{2, 1}}},
		LinkTable:      []*profilespb.Link{{}},
	}}
	now := uint64(time.Now().UnixNano())
	for i := range processes {
		name := fmt.Sprintf("program%d", i%2)
		m.ResourceProfiles = append(m.ResourceProfiles, &profilespb.ResourceProfiles{
			Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
				{Key: "process.pid", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(1<<30 + i)}}},
				{Key: "process.executable.name", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: name}}},
			}},
			ScopeProfiles: []*profilespb.ScopeProfiles{{Profiles: []*profilespb.Profile{{
				SampleType: &profilespb.ValueType{TypeStrindex: 1, UnitStrindex: 2}, PeriodType: &profilespb.ValueType{TypeStrindex: 3, UnitStrindex: 4}, Period: 1e7,
				TimeUnixNano: now, DurationNano: 1e9,
				Samples: []*profilespb.Sample{{StackIndex: 1, AttributeIndices: []int32{1, 2, 3}, TimestampsUnixNano: []uint64{now, now + 1}}},
			}}}},
		})
	}
	return m
}

// get returns what a page answers.
func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRun sends the samples of four processes.
func TestRun(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	c, err := parse([]string{"-listen", filepath.Join(privateDirectory(t), "s"), "-page", "127.0.0.1:0"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	out, to := io.Pipe()
	go func() {
		err := run(ctx, c, to)
		_ = to.CloseWithError(err)
		done <- err
	}()
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	page := strings.TrimSpace(first[strings.Index(first, "http://"):])
	if text := get(t, page+"?format=text"); !strings.Contains(text, "No agent has sent anything yet") {
		t.Errorf("before the first message:\n%s", text)
	}
	conn, err := grpc.NewClient("unix://"+c.listen, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	err = conn.Invoke(ctx, "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export", message(4), new(collectorpb.ExportProfilesServiceResponse))
	if err != nil {
		t.Fatal(err)
	}
	if list := get(t, page+"spans/?format=text"); !strings.Contains(list, "GET /cart") {
		t.Errorf("the list of spans:\n%s", list)
	}
	for _, tt := range []struct{ query, want string }{
		{"?format=text", "by executable, 5 min: 0.08 s"},
		{"flame.json", `"vfs_read"`},
		{"spans/?format=text&query=.host{profile_id=%2200f067aa0ba902b7%22}", "40.0 ms in 4 samples"},
	} {
		if text := get(t, page+tt.query); !strings.Contains(text, tt.want) {
			t.Errorf("%s:\n%s\nwant %q", tt.query, text, tt.want)
		}
	}
	_ = conn.Close()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
