// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// Several services in one store are different, also where their spans have equal names.
func TestSeveralServices(t *testing.T) {
	s := newStore(t)
	ids := map[string]string{}
	for i, service := range []string{"alpha", "beta", "odd {name"} {
		res := resource.NewSchemaless(attribute.String("service.name", service))
		for range i + 1 {
			_, span := newTracer(s, res).Start(t.Context(), "GET /", trace.WithTimestamp(epoch))
			span.End(trace.WithTimestamp(epoch.Add(time.Second)))
			ids[service] = span.SpanContext().SpanID().String()
		}
		b := newProfileBuilder()
		b.add(int64(i+1), labels(ids[service], "GET /"), "main.serve")
		b.add(10, nil, "runtime.gcBgMarkWorker")
		export(t, s, res, exporter.KindCPU, b.profile)
	}
	h := viewer.Handler(s)
	ask := func(query string) answer.Profile { return profileOf(t, h, query) }

	list := listOf(t, h)
	if got := get(t, h, "/?format=text").Body.String(); !strings.HasPrefix(got, "3 services: ") {
		t.Errorf("the list begins with\n%s", got)
	}
	if len(list.Groups) != 3 || len(list.Process) != 3 {
		t.Fatalf("groups %+v, process %+v", list.Groups, list.Process)
	}
	for _, g := range list.Groups {
		a := ask(g.Query)
		if a.Total != g.CPU.Nanoseconds() || a.Note != "" {
			t.Errorf("%s of %q has %d, its link %d, note %q", g.Query, g.Service, g.CPU, a.Total, a.Note)
		}
		// The same work, by way of a span, whether or not the query names the service.
		for _, query := range []string{flameql.ForService(g.Service).WithEqual("profile_id", ids[g.Service]).String(), fmt.Sprintf(`.cpu{profile_id=%q}`, ids[g.Service])} {
			a = ask(query)
			if a.Baseline == nil || a.Baseline.Spans != g.Spans || ask(a.Baseline.Query).Total != g.CPU.Nanoseconds() {
				t.Errorf("%s: the baseline is %+v", query, a.Baseline)
			}
		}
	}
	for _, p := range list.Process {
		want := map[string]int64{"alpha": 11e7, "beta": 12e7, "odd {name": 13e7}[p.Service]
		if a := ask(p.Query); a.Total != want {
			t.Errorf("%s of %q: total %d, want %d", p.Query, p.Service, a.Total, want)
		}
	}
	for query, want := range map[string]string{
		"alpha.cpu": "alpha: CPU time ",
		"gamma.cpu": `Whole process: CPU time there is no service "gamma" here`, // no error
		".cpu":      "Whole process: CPU time ",
	} {
		if a := ask(query); !strings.HasPrefix(a.Title+" "+a.Note, want) || a.Total == 0 {
			t.Errorf("%s: title %q, note %q, total %d", query, a.Title, a.Note, a.Total)
		}
	}
}
