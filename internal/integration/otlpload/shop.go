// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	tracecollector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// A round is some traces of ten spans each: a batch of the usual 512 spans for each of
// five services.
const (
	tracesOfRound = 256
	spansOfTrace  = len(shop)
	spansOfRound  = tracesOfRound * spansOfTrace
)

// call is a span of every trace.
type call struct {
	service  string
	parent   int // index in shop; the first one has none
	kind     tracepb.Span_SpanKind
	name     string
	from, to float64 // when it runs, as a share of the trace
	// attributes are what its instrumentation sets.
	attributes func(v visit) []*commonpb.KeyValue
}

// visit is what differs from trace to trace.
type visit struct {
	user, product int
	route         string
	failed        bool
}

const (
	server   = tracepb.Span_SPAN_KIND_SERVER
	client   = tracepb.Span_SPAN_KIND_CLIENT
	producer = tracepb.Span_SPAN_KIND_PRODUCER
	consumer = tracepb.Span_SPAN_KIND_CONSUMER
)

var services = [...]string{"frontend", "catalogue", "cart", "payment", "mailer"}

var shop = [...]call{
	{"frontend", -1, server, "POST /checkout/{id}", 0, 1, func(v visit) []*commonpb.KeyValue {
		return append(httpServer(v), text("enduser.id", fmt.Sprintf("user-%05d@shop.example", v.user)),
			text("http.request.header.authorization", "Bearer "+strings.Repeat("x", 40)), number("user.cart.items", v.product%9))
	}},
	{"frontend", 0, client, "GET", 0.02, 0.3, httpClient("catalogue", "/products/")},
	{"catalogue", 1, server, "GET /products/{id}", 0.04, 0.28, httpServer},
	{"catalogue", 2, client, "SELECT products", 0.06, 0.25, query("postgresql", "SELECT id, name, price, stock FROM products WHERE id = $1 AND deleted_at IS NULL ORDER BY updated_at DESC LIMIT 20")},
	{"cart", 0, server, "shop.Cart/Reserve", 0.32, 0.5, rpc("shop.Cart", "Reserve")},
	{"cart", 4, client, "HMSET", 0.34, 0.48, query("redis", "HMSET cart:? item ? count ?")},
	{"payment", 0, server, "shop.Payment/Charge", 0.52, 0.9, rpc("shop.Payment", "Charge")},
	{"payment", 6, client, "POST", 0.55, 0.85, httpClient("bank", "/v2/charges/")},
	{"mailer", 6, producer, "send orders", 0.86, 0.89, messaging("send")},
	{"mailer", 8, consumer, "process orders", 0.9, 0.99, messaging("process")},
}

// newRound returns one request per service, with its spans of the round's traces.
// Ids are new each time, and so is the mix of users, products and failures.
func newRound(at time.Time) []*tracecollector.ExportTraceServiceRequest {
	spans := map[string][]*tracepb.Span{}
	for range tracesOfRound {
		addTrace(spans, at)
	}
	requests := make([]*tracecollector.ExportTraceServiceRequest, 0, len(services))
	for _, service := range services {
		requests = append(requests, &tracecollector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
			Resource: &resourcepb.Resource{Attributes: resource(service)},
			ScopeSpans: []*tracepb.ScopeSpans{{
				Scope: &commonpb.InstrumentationScope{Name: "shop.example/" + service + "/instrumentation", Version: "0.72.0"},
				Spans: spans[service],
			}},
		}}})
	}
	return requests
}

// addTrace appends the spans of one trace to the spans of each service.
func addTrace(spans map[string][]*tracepb.Span, at time.Time) {
	v := visit{user: rand.IntN(100_000), product: rand.IntN(5_000), failed: rand.IntN(100) == 0, route: "/checkout/{id}"}
	if rand.IntN(50) == 0 {
		v.route = "/refunds/{id}"
	}
	length := time.Duration(50+rand.ExpFloat64()*150) * time.Millisecond
	start := at.Add(-length)
	trace := id(16)
	var ids [spansOfTrace][]byte
	for i, c := range shop {
		ids[i] = id(8)
		s := &tracepb.Span{
			TraceId: trace, SpanId: ids[i], Name: c.name, Kind: c.kind, Flags: 1,
			StartTimeUnixNano: uint64(start.Add(time.Duration(c.from * float64(length))).UnixNano()),
			EndTimeUnixNano:   uint64(start.Add(time.Duration(c.to * float64(length))).UnixNano()),
			Attributes:        c.attributes(v),
		}
		if c.parent >= 0 {
			s.ParentSpanId = ids[c.parent]
		}
		if v.failed && c.service == "payment" {
			fail(s)
		}
		spans[c.service] = append(spans[c.service], s)
	}
}

func fail(s *tracepb.Span) {
	s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "card declined"}
	s.Events = append(s.Events, &tracepb.Span_Event{
		Name: "exception", TimeUnixNano: s.GetEndTimeUnixNano(),
		Attributes: []*commonpb.KeyValue{
			text("exception.type", "*payment.DeclinedError"), text("exception.message", "card declined by the bank: insufficient funds"),
			text("exception.stacktrace", strings.Repeat("shop.example/payment.(*Server).Charge(0xc000123456, {0x1, 0x2})\n\t/src/payment/server.go:142 +0x1a5\n", 12)),
		},
	})
}

func id(n int) []byte {
	b := make([]byte, 0, n)
	for len(b) < n {
		b = binary.BigEndian.AppendUint64(b, rand.Uint64()|1) // never zero
	}
	return b
}
