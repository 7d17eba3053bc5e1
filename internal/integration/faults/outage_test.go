// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/nettest"
)

// A rolling deployment: the backend has been away for so long that the pauses are
// seconds, comes back, is not ready for one more request, and the program ends with
// five seconds to deliver what waits.
func TestDeliveryAfterAnOutage(t *testing.T) {
	const n = 10 // 100 arrive as well, but perhaps not on a machine that is busy
	for _, p := range protocols {
		for what, deliver := range map[string]func(queue, context.Context) error{"Shutdown": queue.Shutdown, "ForceFlush": queue.ForceFlush} {
			t.Run(p.name+"/"+what, func(t *testing.T) {
				t.Parallel()
				b, proxy := behindProxy(t, p)
				q, err := p.new(proxy.Address(), nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				set(t, proxy, nettest.Fault{Refused: true})
				export(t, q, 0, 1)
				// 0.1 + 0.2 + ... + 3.2 s, and the next pause is of 6.4 s.
				until(t, q, "outage", func(s exporter.LaneStatus) bool { return s.Retries >= 6 })
				export(t, q, 1, n)

				var requests atomic.Int32
				var starting answer
				starting = answer{status: http.StatusServiceUnavailable, code: codes.Unavailable, text: "starting", first: func() {
					if requests.Add(1) == 1 {
						b.answer.CompareAndSwap(&starting, nil)
					}
				}}
				b.answer.Store(&starting)
				set(t, proxy, nettest.Fault{})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				err = deliver(q, ctx)
				got, _ := b.delivered()
				s := q.Stats()
				t.Logf("%d of %d delivered, %s: %v", len(got), n, what, err)
				if err != nil || len(got) != n || s.Exported != n || s.Dropped() != 0 {
					t.Errorf("%d of %d delivered; %v; %+v", len(got), n, err, s)
				}
				if err := q.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// behindProxy runs a backend of the protocol and a proxy in front of it.
func behindProxy(t *testing.T, p protocol) (*backend, *nettest.Proxy) {
	t.Helper()
	b, address := serve(t, p)
	proxy, err := nettest.NewProxy(address)
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

func set(t *testing.T, p *nettest.Proxy, f nettest.Fault) {
	t.Helper()
	if err := p.Set(f); err != nil {
		t.Fatal(err)
	}
}
