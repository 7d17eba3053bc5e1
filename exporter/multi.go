// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"
	"sync"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/report"
)

var _ Exporter = (*Multi)(nil)

// Multi is an Exporter that gives every profile to several others. Each has a queue, a
// goroutine and an account of its own. One that is slow, fails or panics does not
// delay the others.
//
// A [Queue] is used as it is, and so are the queues of another Multi. Any other
// Exporter gets one profile at a time, and each profile once. If it has not returned for
// 48 profiles or 32 MiB of them, the oldest are dropped. Errors and panics of its
// Export are reported through otel.Handle. The handler may use the Multi.
//
// A Multi is safe for concurrent use and must be shut down.
type Multi struct{ queues []*Queue }

// NewMulti returns an Exporter in front of exporters. Its Shutdown shuts them down. Nil
// exporters are left out.
func NewMulti(exporters ...Exporter) *Multi {
	m := new(Multi)
	for _, e := range exporters {
		switch e := e.(type) {
		case nil:
		case *Multi:
			if e != nil { // an unset variable of this type
				m.queues = append(m.queues, e.queues...)
			}
		case *Queue:
			if e != nil {
				m.queues = append(m.queues, e)
			}
		default:
			if report.IsNil(e) {
				otel.Handle(fmt.Errorf("exporter: NewMulti: an exporter is a nil %T; it is left out", e))
				continue
			}
			s := sink{exporter: true, send: e.Export, flush: e.ForceFlush, shutdown: e.Shutdown}
			m.queues = append(m.queues, newQueue(nameOf(e), s, QueueConfig{}))
		}
	}
	return m
}

// nameOf returns the type of an Exporter, or the package if it is from this module.
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

// Export gives p to every queue and returns at once: nil, or ErrShutdown after
// Shutdown.
func (m *Multi) Export(ctx context.Context, p *Profile) error {
	var errs []error
	for _, q := range m.queues {
		errs = append(errs, q.Export(ctx, p))
	}
	return errors.Join(errs...)
}

// ForceFlush flushes all queues at the same time, and joins their errors. It returns
// after each has delivered what it was given, or when ctx ends. An error has the name of
// the destination and its losses since the last ForceFlush: "pyroscope: 4 rejected".
func (m *Multi) ForceFlush(ctx context.Context) error {
	return m.all(func(q *Queue) error { return q.ForceFlush(ctx) })
}

// Shutdown delivers what waits until ctx ends, shuts all Exporters down at the same time,
// and joins their errors. Exporters get all but the last tenth of a second of ctx, so that
// they can still return an error. It returns when ctx ends even if one of them does not.
func (m *Multi) Shutdown(ctx context.Context) error {
	return m.all(func(q *Queue) error { return q.Shutdown(ctx) })
}

// Status returns the account of each destination.
func (m *Multi) Status() []Status {
	s := make([]Status, len(m.queues))
	for i, q := range m.queues {
		s[i] = q.Status()
	}
	return s
}

func (m *Multi) all(f func(*Queue) error) error {
	errs := make([]error, len(m.queues))
	var wg sync.WaitGroup
	for i, q := range m.queues {
		wg.Go(func() { errs[i] = f(q) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
