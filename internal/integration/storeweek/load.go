// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

const (
	// window is how long a CPU profile takes, tick the time of a sample.
	window = 10 * time.Second
	tick   = 10 * time.Millisecond

	names   = 20
	streams = 2
)

// epoch is when the week starts, at midnight.
var epoch = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

var service = resource.NewSchemaless(attribute.String("service.name", "shop"))

// week is a simulated time of a service.
type week struct {
	length  time.Duration
	rate    float64
	unique  float64
	oneOffs int
	seed    uint64
	// every is called after each simulated quarter of an hour.
	every func(at time.Duration, refused int64, last error)

	random    *rand.Rand
	code      *code
	processor sdktrace.SpanProcessor
	truth     truth
	running   ends
	samples   map[int64][]taken // of later windows, by the number of the window
	kinds     [names]kind
	serial    int
}

// kind is what the spans of a name have in common.
type kind struct {
	name   string
	weight float64 // the share of all spans
	median float64 // duration in seconds
	cpu    float64 // the usual share of the duration on a CPU
}

// taken is a CPU sample of a span.
type taken struct {
	of    *span
	stack int
}

// run feeds the store and compares it with what was fed.
func (w *week) run(s *store.Store) (*report, error) {
	w.random = rand.New(rand.NewPCG(w.seed, 20))
	w.code = newCode(w.random)
	w.processor = s.SpanProcessor()
	w.truth = newTruth()
	w.samples = make(map[int64][]taken)
	total := 0.0
	for i := range w.kinds {
		// From half of all spans to one in a thousand.
		k := kind{name: fmt.Sprintf("GET /api/v1/resource%d", i), weight: math.Pow(0.72, float64(i)), median: 0.002 * math.Pow(1.4, float64(i)), cpu: 0.05 + 0.04*float64(i%names)}
		if i >= names-streams {
			k = kind{name: fmt.Sprintf("stream %d", i), weight: 2e-5 / w.rate * 10, median: 5000, cpu: 0.01}
		}
		w.kinds[i] = k
		total += k.weight
	}
	for i := range w.kinds {
		w.kinds[i].weight /= total
	}
	for i := range w.oneOffs {
		w.oneOff(epoch.Add(time.Duration(i) * time.Millisecond))
	}
	var (
		refused int64
		last    error
	)
	for at := time.Duration(0); at < w.length; at += window {
		for range w.poisson(w.rateAt(at) * window.Seconds()) {
			w.start(epoch.Add(at + time.Duration(w.random.Int64N(int64(window)))))
		}
		for range w.poisson(float64(w.oneOffs) / 10 * window.Hours()) {
			w.oneOff(epoch.Add(at))
		}
		w.endUntil(epoch.Add(at + window))
		if err := s.Export(context.Background(), w.profile(at)); err != nil {
			refused++
			last = err
		}
		if w.every != nil && (at+window)%(15*time.Minute) == 0 {
			w.every(at+window, refused, last)
		}
	}
	r, err := w.truth.compare(s)
	if r != nil {
		r.refused, r.last = refused, last
	}
	return r, err
}

// rateAt returns the spans a second: few at night, and ten times as many for ten
// minutes in each three hours by day.
func (w *week) rateAt(at time.Duration) float64 {
	hour := math.Mod(at.Hours(), 24)
	switch {
	case hour < 6:
		return w.rate / 50
	case burst(at):
		return w.rate * 10
	default:
		return w.rate
	}
}

func burst(at time.Duration) bool {
	return math.Mod(at.Hours(), 3) < 1.0/6 && math.Mod(at.Hours(), 24) >= 6
}

// start starts a span of one of the names, which ends later.
func (w *week) start(at time.Time) {
	k := &w.kinds[names-1]
	for i, x := 0, w.random.Float64(); i < names; i++ {
		if x -= w.kinds[i].weight; x < 0 {
			k = &w.kinds[i]
			break
		}
	}
	seconds := k.median * math.Exp(0.8*w.random.NormFloat64())
	cpu := k.cpu * seconds * math.Exp(0.6*w.random.NormFloat64())
	s := w.newSpan(k.name, at, time.Duration(seconds*1e9))
	s.reported = true
	samples := w.poisson(cpu / tick.Seconds())
	if errorOf := w.errorAt(at); errorOf != "" {
		// Every second type has an exception, and a text that names the customer.
		text := fmt.Sprintf("%s (request %d)", errorOf, w.serial)
		if strings.HasPrefix(errorOf, "error") && errorOf[len(errorOf)-1]%2 == 0 {
			s.exception = "shop." + errorOf
			text = w.customer()
		}
		s.status = sdktrace.Status{Code: codes.Error, Description: text}
		s.errorType = errorOf
		samples++
	}
	w.add(s, samples)
}

// oneOff starts a span with a name of its own.
func (w *week) oneOff(at time.Time) {
	s := w.newSpan("", at, time.Duration(w.random.Int64N(int64(time.Second))))
	s.name = fmt.Sprint("GET /scan/", w.serial)
	w.add(s, w.random.IntN(3))
}

// errorAt returns the type of a span's error, "" in most cases. Some types are as frequent
// as one in a hundred, some occur once in days. In a burst one span in ten fails.
func (w *week) errorAt(at time.Time) string {
	since := at.Sub(epoch)
	if burst(since) && w.random.IntN(10) == 0 {
		return "upstream unavailable"
	}
	p := 0.01
	for i := range 11 {
		if w.random.Float64() < p {
			return fmt.Sprintf("error %c", 'a'+i)
		}
		p /= 2.6
	}
	return ""
}

// customer returns a word without digits, one of a great many.
func (w *week) customer() string {
	name := []byte("of ")
	for range 8 {
		name = append(name, byte('a'+w.random.IntN(26)))
	}
	return string(name)
}

func (w *week) newSpan(name string, at time.Time, duration time.Duration) *span {
	w.serial++
	s := &span{name: name, start: at, end: at.Add(duration)}
	binary.BigEndian.PutUint64(s.id[:], w.random.Uint64()|1)
	binary.BigEndian.PutUint64(s.trace[:], w.random.Uint64()|1)
	binary.BigEndian.PutUint64(s.trace[8:], w.random.Uint64())
	if w.random.Float64() < w.unique {
		s.request = w.serial
	}
	return s
}

// add starts the span in the store and spreads its samples over its time.
func (w *week) add(s *span, samples int) {
	for range samples {
		at := s.start.Add(time.Duration(w.random.Float64() * float64(s.end.Sub(s.start))))
		n := int64(at.Sub(epoch) / window)
		w.samples[n] = append(w.samples[n], taken{s, w.code.pick(w.random)})
	}
	s.samples = samples
	heap.Push(&w.running, s)
}

func (w *week) endUntil(t time.Time) {
	for len(w.running) > 0 && w.running[0].end.Before(t) {
		s := heap.Pop(&w.running).(*span)
		w.processor.OnEnd(s.snapshot())
		w.truth.ended(s)
	}
}

// profile returns the CPU profile of the window that starts at a time.
func (w *week) profile(at time.Duration) *exporter.Profile {
	n := int64(at / window)
	p := w.code.profile()
	for _, t := range w.samples[n] {
		id := t.of.id.String()
		labels := map[string][]string{"profile_id": {id}, "span_id": {id}, "trace_id": {t.of.trace.String()}, "span_name": {t.of.name}}
		if t.of.request > 0 {
			labels["request"] = []string{fmt.Sprint("request-", t.of.request)}
		}
		p.Sample = append(p.Sample, &profile.Sample{Location: w.code.stacks[t.stack], Value: []int64{1, int64(tick)}, Label: labels})
	}
	for range 20 {
		// What no span did, such as the garbage collector.
		p.Sample = append(p.Sample, &profile.Sample{Location: w.code.stacks[w.code.pick(w.random)], Value: []int64{1, int64(tick)}})
	}
	delete(w.samples, n)
	return exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: epoch.Add(at), Duration: window, Resource: service}, p)
}

func (w *week) poisson(mean float64) int {
	if mean > 50 {
		return max(0, int(math.Round(mean+math.Sqrt(mean)*w.random.NormFloat64())))
	}
	n := 0
	for p := w.random.Float64(); p > math.Exp(-mean); p *= w.random.Float64() {
		n++
	}
	return n
}
