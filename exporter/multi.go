// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"path"
	"reflect"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/metric"
)

var _ Exporter = (*Multi)(nil)

// Multi is an Exporter that gives every profile to several others. Each of them
// has a lane of its own, with a bound, a worker and an account, so that one which is
// slow, fails or panics does not hold the others up.
//
// The lane of a [Queue] is the Queue itself: profiles go there without a call of Export.
// The lanes of another Multi are that one's. Any other Exporter gets a lane that gives it
// one profile at a time and nothing twice. When that is full, because the Exporter has been slow for
// 48 profiles or for 32 MiB of them, the oldest are dropped. Errors and panics of its
// Export are reported through otel.Handle, whose handler may use the Multi.
// [Multi.Lanes] has the accounts.
//
// A Multi is safe for concurrent use and must be shut down.
type Multi struct{ lanes []*lane }

// NewMulti returns an Exporter in front of exporters, of which it takes
// ownership: its Shutdown shuts them down. Nil ones are left out.
func NewMulti(exporters ...Exporter) *Multi {
	m := new(Multi)
	for _, e := range exporters {
		switch e := e.(type) {
		case nil:
		case *Multi:
			if e != nil { // as a variable may be that nothing was assigned to
				m.lanes = append(m.lanes, e.lanes...)
			}
		case *Queue:
			if e != nil {
				m.lanes = append(m.lanes, e.lane)
			}
		default:
			name := nameOf(e)
			m.lanes = append(m.lanes, newLane(name, sink{send: e.Export, flush: e.ForceFlush, shutdown: e.Shutdown}, queueConfig{}))
		}
	}
	return m
}

// nameOf returns the name of an Exporter's lane: its type, or for those of this module
// their package.
func nameOf(e Exporter) string {
	t := reflect.TypeOf(e)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if own, ok := strings.CutPrefix(t.PkgPath(), "github.com/spanprof/spanprof/"); ok && !strings.HasSuffix(own, "_test") {
		return path.Base(own)
	}
	return t.String()
}

// SetMeterProvider sets where the metrics of the lanes go that NewMulti made; a Queue
// has an option for that. It is for the profiler, which gives its own, and comes before
// the first Export. The default is the global MeterProvider.
func (m *Multi) SetMeterProvider(p metric.MeterProvider) {
	for _, l := range m.lanes {
		if l.retry == nil {
			l.mu.Lock()
			l.config.meterProvider = p
			l.mu.Unlock()
		}
	}
}

// Export hands p to every lane and returns at once: nil, or ErrShutdown after
// Shutdown.
func (m *Multi) Export(_ context.Context, p *Profile) error {
	if p == nil {
		return errors.New("exporter: the profile is nil")
	}
	var err error
	for _, l := range m.lanes {
		if e := l.push(p); e != nil {
			err = e
		}
	}
	return err
}

// ForceFlush flushes all lanes at once, and joins their errors. It returns
// after each has delivered what it was given, or when ctx ends. The error of a lane has
// its name, and says what it lost since the last ForceFlush: "pyroscope: 4 rejected",
// and why the last was. Meanwhile lanes take new profiles.
func (m *Multi) ForceFlush(ctx context.Context) error {
	return m.all(func(l *lane) error { return l.flush(ctx) })
}

// Shutdown lets every lane deliver what it was given until ctx ends, shuts all
// Exporters down at once, and joins their errors, as ForceFlush does. Exporters get all
// but the last tenth of a second of ctx, which is for what they say of profiles that they
// could not deliver. It returns when ctx ends even if one of them does not.
func (m *Multi) Shutdown(ctx context.Context) error {
	return m.all(func(l *lane) error { return l.shutdown(ctx) })
}

// Lanes returns the accounts of the lanes.
func (m *Multi) Lanes() []LaneStatus {
	s := make([]LaneStatus, len(m.lanes))
	for i, l := range m.lanes {
		s[i] = l.Status()
	}
	return s
}

func (m *Multi) all(f func(*lane) error) error {
	errs := make([]error, len(m.lanes))
	var wg sync.WaitGroup
	for i, l := range m.lanes {
		wg.Go(func() { errs[i] = errors.Join(f(l), l.losses()) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
