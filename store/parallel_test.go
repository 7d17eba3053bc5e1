// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
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
		p := g.profile(100)
		var times [][]int64
		for i, s := range p.Sample {
			if i%5 == 0 {
				id := []string{idOf(span)}
				s.Label = map[string][]string{"profile_id": id, "span_id": id, "span_name": {"GET /"}}
			}
			times = append(times, []int64{epoch.Add(time.Duration(n)*step + time.Duration(i)*tick).UnixNano()})
		}
		export(t, s, exporter.NewTimedProfile(exporter.Window{Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(n) * step), Duration: step, Resource: checkout}, p, times))
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
	written, err := writtenValue(v, q)
	if err != nil {
		return err
	}
	if sel.Total != stacks || written != stacks || profiled != stacks || overTime != stacks || again.Total != stacks || samples != sel.Samples {
		return fmt.Errorf("total %d: stacks have %d, pprof %d, written %d, the time line %d, asked again %d; %d samples of %d", sel.Total, stacks, profiled, written, overTime, again.Total, sel.Samples, samples)
	}
	if err := checkSpans(v); err != nil {
		return err
	}
	if err := checkLog(v.(store.Live)); err != nil {
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

// writtenValue returns the value of the samples of a profile that is written without being
// built.
func writtenValue(v store.View, q store.Query) (sum int64, err error) {
	selected, err := v.(store.Encoder).Pprof(q)
	if err != nil {
		return 0, err
	}
	var b bytes.Buffer
	if err := selected.Write(&b); err != nil {
		return 0, err
	}
	p, err := profile.Parse(&b)
	if err != nil {
		return 0, err
	}
	if len(p.Sample) != selected.Samples() {
		return 0, fmt.Errorf("%d samples are written of %d", len(p.Sample), selected.Samples())
	}
	for _, s := range p.Sample {
		if len(s.Location) < 10 {
			return 0, fmt.Errorf("a stack of %d locations is written", len(s.Location))
		}
		sum += s.Value[1]
	}
	return sum, nil
}

// checkSpans asks for spans, and when those with samples had them. All samples of the test
// have times.
func checkSpans(v store.View) error {
	spans, err := v.Spans(store.SpanQuery{Limit: 20, Running: true, Order: store.MostCPU})
	if err != nil {
		return err
	}
	for _, s := range spans {
		again, ok, err := v.Span(s.ProfileID)
		if err != nil || !ok || again.CPU != s.CPU || again.SamplesHeld != s.SamplesHeld {
			return fmt.Errorf("span %s has %v of CPU time and %d samples held, asked again %v and %d: %w", s.ProfileID, s.CPU, s.SamplesHeld, again.CPU, again.SamplesHeld, err)
		}
		times, err := v.(store.Timed).CPUTimes(s, 200)
		if err != nil {
			return err
		}
		var held int64
		for i, t := range times {
			if i > 0 && t.After < times[i-1].After || t.After > s.Duration {
				return fmt.Errorf("span %s of %v has CPU times %v", s.ProfileID, s.Duration, times)
			}
			held += t.Samples
		}
		if held != s.SamplesHeld {
			return fmt.Errorf("span %s has %d samples held, %d with times", s.ProfileID, s.SamplesHeld, held)
		}
	}
	return nil
}

// checkLog compares the log with the numbers.
func checkLog(v store.Live) error {
	stats, log := v.Stats(), v.Log()
	if want := min(512, stats.WindowsReceived+stats.WindowsEvicted); int64(len(log)) != want || want == 0 {
		return fmt.Errorf("%d events of %d windows received and %d evicted", len(log), stats.WindowsReceived, stats.WindowsEvicted)
	}
	for i, e := range log {
		if e.Time.IsZero() || e.Kind != exporter.KindCPU || e.Samples != 100 || e.Type != store.EventReceived && e.Type != store.EventEvicted {
			return fmt.Errorf("event %d is %+v", i, e)
		}
	}
	return nil
}
