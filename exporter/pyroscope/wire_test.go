// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/pyroscope"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

func TestKinds(t *testing.T) {
	service := attribute.String("service.name", "shop")
	pprof := []byte("pprof bytes, as they are")
	average := "average"
	for _, tt := range []struct {
		kind                     exporter.Kind
		rate, units, aggregation string
		types                    map[string]map[string]any
	}{
		{kind: exporter.KindCPU, rate: "100", units: "samples", aggregation: "sum"},
		{kind: exporter.KindWall, rate: "0"},
		{kind: "custom", rate: "0"},
		{kind: exporter.KindHeap, rate: "100", types: map[string]map[string]any{
			"alloc_objects": {"units": "objects"},
			"alloc_space":   {"units": "bytes"},
			"inuse_objects": {"units": "objects", "aggregation": average},
			"inuse_space":   {"units": "bytes", "aggregation": average},
		}},
		{kind: exporter.KindGoroutine, rate: "0", units: "goroutines", aggregation: average, types: map[string]map[string]any{
			"goroutine": {"display-name": "goroutine", "units": "goroutines", "aggregation": average},
		}},
		{kind: exporter.KindMutex, rate: "0", types: map[string]map[string]any{
			"contentions": {"display-name": "mutex_count", "units": "lock_samples"},
			"delay":       {"display-name": "mutex_duration", "units": "lock_nanoseconds"},
		}},
		{kind: exporter.KindBlock, rate: "0", types: map[string]map[string]any{
			"contentions": {"display-name": "block_count", "units": "lock_samples"},
			"delay":       {"display-name": "block_duration", "units": "lock_nanoseconds"},
		}},
	} {
		t.Run(string(tt.kind), func(t *testing.T) {
			window := now(service)
			window.Kind = tt.kind
			p := deliver(t, nil, exporter.NewProfile(window, pprof))[0]
			if diff := cmp.Diff(map[string]string{
				"name": "shop{}", "from": fmt.Sprint(window.Start.UnixNano()), "until": fmt.Sprint(window.Start.Add(10 * time.Second).UnixNano()), "spyName": "gospy",
				"sampleRate": tt.rate, "units": tt.units, "aggregationType": tt.aggregation,
			}, p.query); diff != "" {
				t.Errorf("query (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.types, p.types); diff != "" {
				t.Errorf("sample_type_config (-want +got):\n%s", diff)
			}
			if !bytes.Equal(p.profile, pprof) {
				t.Errorf("profile %q, want it unchanged", p.profile)
			}
		})
	}
}

func TestNames(t *testing.T) {
	many := make([]attribute.KeyValue, 30)
	var first24 []string
	for i := range many {
		many[i] = attribute.Int(fmt.Sprintf("a%02d", i), i)
		if i < 24 {
			first24 = append(first24, fmt.Sprintf("a%02d=%d", i, i))
		}
	}
	for _, tt := range []struct {
		name       string
		attributes []attribute.KeyValue
		tags       map[string]string
		want       string
	}{
		{"none", nil, nil, "unknown_service{}"},
		{"empty", []attribute.KeyValue{attribute.String("service.name", " "), attribute.String("region", "")}, nil, "unknown_service{}"},
		{
			"of the default resource",
			[]attribute.KeyValue{attribute.String("service.name", "unknown_service:shop.test")},
			nil,
			"unknown_service_shop.test{service_name=unknown_service:shop.test}",
		},
		{"tags", []attribute.KeyValue{
			attribute.String("service.name", "team/shop-1.x_y"),
			attribute.String("service.version", "v1.2"),
			attribute.String("k8s.pod.name", "shop-0"),
			attribute.Int("shard", 7),
			attribute.StringSlice("zones", []string{"a", "b"}),
			attribute.String("1st", "a, b} "),
			attribute.String("service.instance.id", "x"), attribute.String("host.id", "x"), attribute.String("container.id", "x"),
			attribute.String("k8s.pod.uid", "x"), attribute.Int("process.pid", 1), attribute.String("os.type", "x"), attribute.String("telemetry.sdk.name", "x"),
		}, nil, `team/shop-1.x_y{_1st=a_ b_,k8s_pod_name=shop-0,service_version=v1.2,shard=7,zones=["a"_"b"]}`},
		{"collision", []attribute.KeyValue{attribute.String("a.b", "1"), attribute.String("a_b", "2")}, nil, "unknown_service{a_b=1}"},
		{
			"reserved",
			[]attribute.KeyValue{
				attribute.String("service.name", "shop"), attribute.String("service_name", "x"),
				attribute.String("__name__", "x"), attribute.String("..session_id", "x"), attribute.String("a", "1"),
			},
			nil,
			"shop{a=1}",
		},
		{
			"static first",
			[]attribute.KeyValue{attribute.String("service.name", "shop"), attribute.String("region", "eu")},
			map[string]string{"region": "us", "team": "checkout = 1"},
			"shop{region=us,team=checkout = 1}",
		},
		{
			"long",
			[]attribute.KeyValue{attribute.String("service.name", "shop"), attribute.String("x", strings.Repeat("ä", 1025))},
			nil,
			"shop{x=" + strings.Repeat("ä", 1024) + "}",
		},
		{"too many", many, nil, "unknown_service{" + strings.Join(first24, ",") + "}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reported := reporttest.Collect(t)
			p := exporter.NewProfile(now(tt.attributes...), nil)
			pushes := deliver(t, []pyroscope.Option{pyroscope.WithTags(tt.tags)}, p, p)
			if len(pushes) != 2 {
				t.Fatalf("%d pushes", len(pushes))
			}
			if diff := cmp.Diff(tt.want, pushes[0].query["name"]); diff != "" {
				t.Errorf("name (-want +got):\n%s", diff)
			}
			want := 0
			switch tt.name {
			case "too many", "collision", "reserved":
				want = 1 // for two profiles
			}
			if got := reported(); len(got) != want {
				t.Errorf("reported %q, want %d reports", got, want)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	p := exporter.NewProfile(now(), nil)
	got := deliver(t, []pyroscope.Option{
		nil,
		pyroscope.WithBasicAuth("user", "password"),
		pyroscope.WithHeaders(map[string]string{"x-extra": "1", "X-Scope-OrgID": "team-a", "Content-Type": "overruled"}),
	}, p)[0]
	if user, _, _ := got.BasicAuth(); user != "user" || got.Header.Get("X-Scope-OrgID") != "team-a" || got.Header.Get("X-Extra") != "1" || got.Header.Get("User-Agent") != "spanprof" {
		t.Errorf("user %q, header %v", user, got.Header)
	}
	got = deliver(t, []pyroscope.Option{pyroscope.WithHeaders(map[string]string{"Authorization": "Bearer secret"})}, p)[0]
	if a := got.Header.Get("Authorization"); a != "Bearer secret" {
		t.Errorf("Authorization: %q", a)
	}
	used := false
	client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		used = true
		return http.DefaultTransport.RoundTrip(r)
	})}
	deliver(t, []pyroscope.Option{pyroscope.WithHTTPClient(client)}, p)
	http.DefaultClient.CloseIdleConnections()
	if !used {
		t.Error("the HTTP client was not used")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNewErrors(t *testing.T) {
	many := map[string]string{}
	for i := range 25 {
		many[fmt.Sprint("a", i)] = "x"
	}
	tag := func(name, value string) pyroscope.Option {
		return pyroscope.WithTags(map[string]string{name: value})
	}
	header := func(name, value string) pyroscope.Option {
		return pyroscope.WithHeaders(map[string]string{name: value})
	}
	for _, tt := range []struct {
		address string
		option  pyroscope.Option
		want    string
	}{
		{"localhost:4040", nil, "not an HTTP URL"},
		{"http://h/a/ingest/", nil, "ends in /ingest"},
		{"http://user:secret%zz@h", nil, "cannot be parsed"},
		{"user:secret@h:4040", nil, "not an HTTP URL"},
		{"http://h/?token=secret", nil, "has a query"},
		{"http://h/#secret", nil, "has a query or a fragment"},
		{"http://x", pyroscope.WithBasicAuth("123456", ""), "user or password is empty"},
		{"http://x", pyroscope.WithHTTPClient(nil), "HTTP client is nil"},
		{"http://x", pyroscope.WithTags(many), "25 tags"},
		{"http://x", tag("a.b", "x"), "tag name"},
		{"http://x", tag("__a", "x"), "tag name"},
		{"http://x", tag("service_name", "x"), "service.name"},
		{"http://x", tag("a", "x,y"), "value"},
		{"http://x", tag("a", ""), "value"},
		{"http://x", header("a", "x\r\ny"), "header"},
		{"http://x", pyroscope.WithQueue(exporter.QueueConfig{MaxBytes: -1}), "negative bound"},
	} {
		e, err := pyroscope.New(tt.address, tt.option)
		if err == nil || e != nil || !strings.HasPrefix(err.Error(), "pyroscope: ") || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("New(%q): %v, %v; want an error about %q", tt.address, e, err, tt.want)
		}
	}
}
