// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command otlpload sends a bounded number of spans to an OTLP/gRPC receiver, and prints
// how many were taken. A trace has ten spans, each with the attributes of usual instrumentation.
//
//	go run ./internal/integration/otlpload -to 127.0.0.1:4317 -spans 1000000 -rate 40000
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	tracecollector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A request is a batch of about the usual size.
const (
	spansOfTrace   = 10
	spansOfRequest = 51 * spansOfTrace
)

func main() {
	to := flag.String("to", "127.0.0.1:4317", "`address` of the receiver")
	spans := flag.Int("spans", 100_000, "spans to send, rounded up to whole requests of 510")
	rate := flag.Int("rate", 40_000, "spans a second at most")
	flag.Parse()
	conn, err := grpc.NewClient(*to, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal("otlpload: ", err)
	}
	start := time.Now()
	var sent atomic.Int64
	var all sync.WaitGroup
	for range 4 { // more would fill the receiver's queue with messages, not spans
		all.Go(func() {
			for n := sent.Add(spansOfRequest) - spansOfRequest; n < int64(*spans); n = sent.Add(spansOfRequest) - spansOfRequest {
				at := start.Add(time.Duration(n) * time.Second / time.Duration(*rate))
				<-time.After(time.Until(at))
				if err := export(conn, at); err != nil {
					log.Fatalf("otlpload: send to %s: %v", *to, err)
				}
			}
		})
	}
	all.Wait()
	fmt.Printf("%d spans sent in %.1f s\n", *spans, time.Since(start).Seconds())
}

// export sends a request.
func export(conn *grpc.ClientConn, at time.Time) error {
	spans := make([]*tracepb.Span, 0, spansOfRequest)
	for len(spans) < spansOfRequest {
		spans = appendTrace(spans, at)
	}
	request := &tracecollector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{Attributes: texts(
			"service.name", "shop", "service.version", "1.42.0", "telemetry.sdk.name", "opentelemetry", "telemetry.sdk.language", "go",
			"k8s.namespace.name", "shop", "k8s.pod.name", "shop-6f9c7d5b8-x2lqp", "host.arch", "amd64")},
		ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}},
	}}}
	var response tracecollector.ExportTraceServiceResponse
	err := conn.Invoke(context.Background(), "/opentelemetry.proto.collector.trace.v1.TraceService/Export", request, &response, grpc.WaitForReady(true))
	if p := response.GetPartialSuccess(); err == nil && p.GetRejectedSpans() > 0 {
		return errors.New("spans rejected: " + p.GetErrorMessage())
	}
	return err
}

// appendTrace appends a trace that ends at a time. One in 50 is a refund, and one in 100 fails.
func appendTrace(spans []*tracepb.Span, at time.Time) []*tracepb.Span {
	route := "/checkout/{id}"
	if rand.IntN(50) == 0 {
		route = "/refunds/{id}"
	}
	trace, parent, failed := id(16), []byte(nil), rand.IntN(100) == 0
	took := time.Duration(50+rand.ExpFloat64()*150) * time.Millisecond
	for i := range spansOfTrace {
		s := &tracepb.Span{
			TraceId: trace, SpanId: id(8), ParentSpanId: parent, Flags: 1,
			Name: fmt.Sprint("step ", i), Kind: tracepb.Span_SpanKind(1 + i%5),
			StartTimeUnixNano: uint64(at.Add(-took).UnixNano()), EndTimeUnixNano: uint64(at.UnixNano()),
			Attributes: texts("http.request.method", "POST", "http.route", route, "url.path", fmt.Sprint("/checkout/", rand.IntN(5000)),
				"server.address", "shop.example", "client.address", fmt.Sprint("198.51.100.", rand.IntN(250)),
				"user_agent.original", "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
				"db.query.text", "SELECT id, name, price, stock FROM products WHERE id = $1 ORDER BY updated_at DESC LIMIT 20"),
		}
		if failed && i > 5 {
			s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "card declined"}
		}
		spans, parent = append(spans, s), s.SpanId
		took -= took / 10
	}
	return spans
}

// texts returns attributes of keys and values in turn.
func texts(all ...string) (attributes []*commonpb.KeyValue) {
	for i := 0; i < len(all); i += 2 {
		attributes = append(attributes, &commonpb.KeyValue{Key: all[i], Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: all[i+1]}}})
	}
	return attributes
}

func id(n int) []byte {
	b := make([]byte, 0, n)
	for len(b) < n {
		b = binary.BigEndian.AppendUint64(b, rand.Uint64()|1) // never zero
	}
	return b
}
