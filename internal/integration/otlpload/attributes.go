// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
)

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, value int) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(value)}}}
}

// resource returns the resource that an SDK in a Kubernetes pod detects.
func resource(service string) []*commonpb.KeyValue {
	return []*commonpb.KeyValue{
		text("service.name", service), text("service.namespace", "shop"), text("service.version", "1.42.0"),
		text("service.instance.id", service+"-6f9c7d5b8-x2lqp"),
		text("telemetry.sdk.name", "opentelemetry"), text("telemetry.sdk.language", "go"), text("telemetry.sdk.version", "1.47.0"),
		text("k8s.namespace.name", "shop"), text("k8s.deployment.name", service), text("k8s.pod.name", service+"-6f9c7d5b8-x2lqp"),
		text("k8s.node.name", "node-17.example"), text("container.id", "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0"),
		text("host.arch", "amd64"), number("process.pid", 1),
	}
}

func httpServer(v visit) []*commonpb.KeyValue {
	return []*commonpb.KeyValue{
		text("http.request.method", "POST"), text("http.route", v.route), number("http.response.status_code", v.status()),
		text("url.scheme", "https"), text("url.path", fmt.Sprintf("/checkout/%d", v.product)), text("server.address", "shop.example"),
		number("server.port", 443), text("client.address", fmt.Sprintf("198.51.100.%d", v.user%250)),
		text("network.protocol.version", "2"), text("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"),
	}
}

func (v visit) status() int {
	if v.failed {
		return 502
	}
	return 200
}

func httpClient(host, path string) func(visit) []*commonpb.KeyValue {
	return func(v visit) []*commonpb.KeyValue {
		return []*commonpb.KeyValue{
			text("http.request.method", "GET"), text("url.full", fmt.Sprintf("https://%s.shop.example%s%d?currency=EUR", host, path, v.product)),
			number("http.response.status_code", v.status()), text("server.address", host+".shop.example"), number("server.port", 443),
			text("network.protocol.version", "2"), text("http.request.header.authorization", "Bearer 0123456789abcdef"),
		}
	}
}

func query(system, statement string) func(visit) []*commonpb.KeyValue {
	return func(v visit) []*commonpb.KeyValue {
		return []*commonpb.KeyValue{
			text("db.system.name", system), text("db.namespace", "shop"), text("db.query.text", statement),
			text("server.address", system+".shop.example"), number("server.port", 5432), number("db.response.returned_rows", v.product%20),
		}
	}
}

func rpc(service, method string) func(visit) []*commonpb.KeyValue {
	return func(v visit) []*commonpb.KeyValue {
		return []*commonpb.KeyValue{
			text("rpc.system", "grpc"), text("rpc.service", service), text("rpc.method", method), number("rpc.grpc.status_code", 0),
			text("network.peer.address", fmt.Sprintf("10.0.3.%d", v.user%250)), number("network.peer.port", 50051),
			text("enduser.id", fmt.Sprintf("user-%05d@shop.example", v.user)),
		}
	}
}

func messaging(operation string) func(visit) []*commonpb.KeyValue {
	return func(v visit) []*commonpb.KeyValue {
		return []*commonpb.KeyValue{
			text("messaging.system", "kafka"), text("messaging.destination.name", "orders"), text("messaging.operation.type", operation),
			number("messaging.kafka.offset", v.product), text("messaging.message.id", fmt.Sprintf("order-%d-%d", v.user, v.product)),
			text("messaging.client.id", "mailer-1"),
		}
	}
}
