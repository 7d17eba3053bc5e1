// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	// chunkLen is how many spans are forgotten at once.
	chunkLen = 128
	// maxTextLen bounds what one span can take.
	maxTextLen = 1024
)

// spanLog holds the summaries of ended spans. It has a lock of its own, as it
// is written on the application's request path.
type spanLog struct {
	maxBytes int64
	maxLive  int

	mu sync.Mutex
	// chunks are the spans in the order of their end, chunkLen in each but
	// the last. What is in a chunk never changes, so that a query reads it
	// without the lock.
	chunks [][]spanRecord
	names  map[string]*spanName
	// live has the local roots that have started but not ended.
	live map[trace.SpanID]struct{}
	// resource is that of the last span, service its service.name.
	resource *resource.Resource
	service  string

	bytes          int64
	ended, evicted int64
}

func newSpanLog(maxBytes int64) *spanLog {
	return &spanLog{
		maxBytes: maxBytes,
		// Spans that never end may take a sixteenth.
		maxLive: int(min(maxBytes/16/liveCost, math.MaxInt32)),
		names:   make(map[string]*spanName),
		live:    make(map[trace.SpanID]struct{}),
	}
}

var (
	chunkCost = allocSize(chunkLen*int64(unsafe.Sizeof(spanRecord{}))) + int64(unsafe.Sizeof([]spanRecord{}))
	liveCost  = slotSize(int64(unsafe.Sizeof(trace.SpanID{})))
)

func (l *spanLog) start(id trace.SpanID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.live) >= l.maxLive {
		// The program loses spans without ending them. To forget all
		// is cheap, and harms only exemplars whose profile_id is a
		// span's and whose span_id is not set.
		l.live = make(map[trace.SpanID]struct{})
	}
	l.live[id] = struct{}{}
}

func (l *spanLog) end(s sdktrace.ReadOnlySpan, localRoot bool) {
	ctx, status, res := s.SpanContext(), s.Status(), s.Resource()
	r := spanRecord{
		traceID:   ctx.TraceID(),
		spanID:    ctx.SpanID(),
		parentID:  s.Parent().SpanID(),
		status:    strings.Clone(cut(status.Description)),
		start:     s.StartTime().UnixNano(),
		duration:  max(0, int64(s.EndTime().Sub(s.StartTime()))),
		err:       status.Code == codes.Error,
		localRoot: localRoot,
	}
	name := cut(s.Name())

	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.live, r.spanID)
	if res != l.resource {
		l.resource, l.service = res, serviceName(res)
	}
	r.service = l.service
	r.name = l.retainName(name)
	l.append(r)
	l.ended++
	for l.bytes > l.maxBytes-int64(l.maxLive)*liveCost && len(l.chunks) > 1 {
		l.removeOldest()
	}
}

func (l *spanLog) append(r spanRecord) {
	last := len(l.chunks) - 1
	if last < 0 || len(l.chunks[last]) == chunkLen {
		l.chunks = append(l.chunks, make([]spanRecord, 0, chunkLen))
		l.bytes += chunkCost
		last++
	}
	l.chunks[last] = append(l.chunks[last], r)
	l.bytes += allocSize(int64(len(r.status)))
}

func (l *spanLog) removeOldest() {
	oldest := l.chunks[0]
	l.chunks = slices.Delete(l.chunks, 0, 1)
	l.bytes -= chunkCost
	l.evicted += int64(len(oldest))
	for i := range oldest {
		l.bytes -= allocSize(int64(len(oldest[i].status)))
		l.releaseName(oldest[i].name)
	}
}

func (l *spanLog) retainName(name string) *spanName {
	n := l.names[name]
	if n == nil {
		n = &spanName{value: strings.Clone(name)}
		l.names[n.value] = n
		l.bytes += textCost(name)
	}
	n.refs++
	return n
}

func (l *spanLog) releaseName(n *spanName) {
	n.refs--
	if n.refs == 0 {
		delete(l.names, n.value)
		l.bytes -= textCost(n.value)
	}
}

// lastService returns service.name of the span that ended last, if any has.
func (l *spanLog) lastService() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.service, l.resource != nil
}

// snapshot returns the chunks as they are now.
func (l *spanLog) snapshot() [][]spanRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.chunks)
}

// known returns those of the ids that are a span's, running or held.
func (l *spanLog) known(ids map[trace.SpanID]struct{}) map[trace.SpanID]struct{} {
	known := make(map[trace.SpanID]struct{})
	if len(ids) == 0 {
		return known
	}
	l.mu.Lock()
	for id := range ids {
		if _, ok := l.live[id]; ok {
			known[id] = struct{}{}
		}
	}
	l.mu.Unlock()
	// After the lock: a span that ended meanwhile is here.
	for _, chunk := range l.snapshot() {
		for i := range chunk {
			if _, ok := ids[chunk[i].spanID]; ok {
				known[chunk[i].spanID] = struct{}{}
			}
		}
	}
	return known
}

// find returns the record of a span, nil if there is none.
func (l *spanLog) find(id trace.SpanID) *spanRecord {
	for _, chunk := range slices.Backward(l.snapshot()) {
		for i := range chunk {
			if chunk[i].spanID == id {
				return &chunk[i]
			}
		}
	}
	return nil
}

// addTo adds what the log knows to the statistics of the store.
func (l *spanLog) addTo(s *Stats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Bytes += l.bytes + int64(len(l.live))*liveCost
	s.SpansEnded = l.ended
	s.SpansEvicted = l.evicted
	s.Spans = int(l.ended - l.evicted)
	s.SpansRunning = len(l.live)
}

// serviceVersion returns service.version of a resource, "" where there is none.
func serviceVersion(r *resource.Resource) string {
	v, _ := r.Set().Value(semconv.ServiceVersionKey)
	return v.AsString()
}

// serviceName returns service.name of a resource, "" where there is none.
func serviceName(r *resource.Resource) string {
	v, _ := r.Set().Value(semconv.ServiceNameKey)
	return v.AsString()
}
