// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/livetest"
)

// outage is one of a backend that is away until an exporter has tried again so many times. The
// program then has so much time to deliver what waits.
type outage struct {
	retries uint64
	left    time.Duration
}

// outages differ in their times alone. The pauses double with each retry, by half more or less.
// Two more pauses are longer than the time that is left. A machine that is too busy for the
// first may have the time for the second.
var outages = []outage{
	{6, 5 * time.Second}, // the next pause is of 5 s
	{7, 10 * time.Second},
}

// A rolling deployment: the backend has been away for so long that the pauses are seconds. It
// comes back, and is not ready for one more request. The program ends, and has seconds to
// deliver what waits.
func TestDeliveryAfterAnOutage(t *testing.T) {
	for _, p := range protocols {
		for what, deliver := range map[string]func(queue, context.Context) error{"Shutdown": queue.Shutdown, "ForceFlush": queue.ForceFlush} {
			t.Run(p.name+"/"+what, func(t *testing.T) {
				t.Parallel()
				ctx := livetest.Context(t, livetest.Most)
				var failed error
				for _, o := range outages {
					if failed = o.meet(ctx, t, p, deliver); failed == nil {
						return
					}
					t.Logf("within %v after %d retries: %v", o.left, o.retries, failed)
				}
				t.Error(failed)
			})
		}
	}
}

// meet has an exporter meet the outage. The error has the number of profiles that arrived in time.
func (o outage) meet(ctx context.Context, t *testing.T, p protocol, deliver func(queue, context.Context) error) error {
	t.Helper()
	const n = 10
	b, proxy := behindProxy(t, p)
	q, err := p.new(proxy.Address(), nil, exporter.QueueConfig{})
	if err != nil {
		t.Fatal(err)
	}
	set(t, proxy, networkFault{Refused: true})
	export(t, q, 0, 1)
	until(ctx, t, q, "outage", func(s exporter.Status) bool { return s.Retries >= o.retries })
	export(t, q, 1, n)

	var requests atomic.Int32
	var starting answer
	starting = answer{status: http.StatusServiceUnavailable, code: codes.Unavailable, text: "starting", first: func() {
		if requests.Add(1) == 1 {
			b.answer.CompareAndSwap(&starting, nil)
		}
	}}
	b.answer.Store(&starting)
	set(t, proxy, networkFault{})
	left, cancel := context.WithTimeout(ctx, o.left)
	defer cancel()
	err = deliver(q, left)
	got, _ := b.delivered()
	s := q.Status()
	t.Logf("%d of %d delivered, %s: %v", len(got), n, p.name, err)
	if errors.Is(err, context.DeadlineExceeded) {
		// Profiles that were not delivered in time are counted as lost, or wait.
		if s.Exported+lost(s)+uint64(s.Waiting) != n {
			t.Errorf("%v; %+v", err, s)
		}
		err = fmt.Errorf("%d of %d delivered: %w; %+v", len(got), n, err, s)
	} else if err != nil || len(got) != n || s.Exported != n || lost(s) != 0 {
		t.Errorf("%d of %d delivered; %v; %+v", len(got), n, err, s)
	}
	// The next one begins anew.
	if failure := q.Shutdown(ctx); failure != nil {
		t.Error(failure)
	}
	return err
}

// behindProxy runs a backend of the protocol and a proxy in front of it.
func behindProxy(t *testing.T, p protocol) (*backend, *networkProxy) {
	t.Helper()
	b, address := serve(t, p)
	proxy, err := newNetworkProxy(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, proxy
}

func set(t *testing.T, p *networkProxy, f networkFault) {
	t.Helper()
	if err := p.Set(f); err != nil {
		t.Fatal(err)
	}
}
