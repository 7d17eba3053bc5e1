// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// Fifty clients ask everything while windows come and make room for others: the answers of
// each view agree with each other, whatever the tables of stacks are used for meanwhile.
func TestParallelQueriesUnderEviction(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(2<<20))
	tracer := newTracerProvider(s).Tracer("")
	g := newGenerator()
	n := 0
	feed := func() {
		_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", n%20), at(float64(n)), trace.WithAttributes(attribute.Int("http.response.status_code", n%7)))
		span.End(at(float64(n) + 1))
		export(t, s, inWindow(n, exporter.KindCPU, g.profile(100)))
		n++
	}
	for s.Stats().WindowsEvicted == 0 {
		feed()
	}
	few := matcher(t, "span_id", store.MatchRegexp, ".*1")
	var clients sync.WaitGroup
	for client := range 50 {
		clients.Go(func() {
			v, err := s.View(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			defer v.Close()
			if err := checkView(v, few, client); err != nil {
				t.Error(err)
			}
		})
	}
	for range 30 {
		feed()
	}
	clients.Wait()
	if s.Stats().WindowsEvicted < 30 {
		t.Errorf("%d windows made room, want 30 at least", s.Stats().WindowsEvicted)
	}
}

// checkView asks a view for the same samples in all ways.
func checkView(v store.View, few store.Matcher, client int) error {
	q := store.Query{Kind: exporter.KindCPU, WithoutIDs: client%2 == 0}
	if client%3 == 0 {
		q.Matchers = []store.Matcher{few}
	}
	sel, err := v.Select(q)
	if err != nil {
		return err
	}
	again, err := v.Select(q)
	if err != nil {
		return err
	}
	p, err := v.Profile(q)
	if err != nil {
		return err
	}
	if err := p.CheckValid(); err != nil {
		return err
	}
	timeline, err := v.Timeline(q, 3)
	if err != nil {
		return err
	}
	kinds, err := v.Kinds(q)
	if err != nil {
		return err
	}
	var stacks, profiled, overTime, samples int64
	for i, of := range sel.Stacks {
		stacks += of.Value
		if len(of.Stack.Locations) < 10 || of.Stack.Locations[0] != again.Stacks[i].Stack.Locations[0] || len(of.Stack.Locations) != len(again.Stacks[i].Stack.Locations) {
			return fmt.Errorf("stack %d is another when asked again", i)
		}
		for _, l := range of.Stack.Locations {
			if l == nil || len(l.Lines) == 0 {
				return fmt.Errorf("stack %d has a location without a line", i)
			}
		}
	}
	for _, s := range p.Sample {
		profiled += s.Value[1]
	}
	for _, b := range timeline.Buckets {
		overTime += b.Rest
		for _, value := range b.Values {
			overTime += value
		}
	}
	for _, k := range kinds {
		samples += k.Samples
	}
	if sel.Total != stacks || profiled != stacks || overTime != stacks || again.Total != stacks || samples != sel.Samples {
		return fmt.Errorf("total %d: stacks have %d, pprof %d, the time line %d, asked again %d; %d samples of %d", sel.Total, stacks, profiled, overTime, again.Total, sel.Samples, samples)
	}
	if _, err := v.Spans(store.SpanQuery{Limit: 20, Running: true}); err != nil {
		return err
	}
	if _, err := v.NameTotals(); err != nil {
		return err
	}
	attributed := v.(store.Attributed)
	keys, err := attributed.AttributeKeys()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, err := attributed.AttributeTotals(key.Key); err != nil {
			return err
		}
	}
	_, err = v.Windows(store.WindowQuery{})
	return err
}
