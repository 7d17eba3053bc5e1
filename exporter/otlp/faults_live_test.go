// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package otlp_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/report/reporttest"
)

// Once, with the errors of the system's network.
func TestFaultOnSockets(t *testing.T) {
	newCertificates(t)
	for _, tt := range faults {
		if !tt.socket {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			log := &errorLog{errs: []error{errors.New("reported")}}
			reporttest.Handle(t, log.Handle)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			b, e, stop := tt.up(t, listener, func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, listener.Addr().String())
			})
			defer stop()
			export(t, e, 1)
			wait(t, func() bool { s := e.Status(); return s.Exported+s.Lost["rejected"]+s.Retries > 0 })
			b.heal()
			if err := e.ForceFlush(t.Context()); (err != nil) != tt.rejected {
				t.Errorf("ForceFlush: %v", err)
			}
			s := e.Status()
			_, messages := b.received()
			if tt.rejected && s.Lost["rejected"] != 1 || !tt.rejected && (s.Exported != 1 || !slices.Equal(numbers(messages), []int64{1})) {
				t.Errorf("%+v, and the backend has %d", s, numbers(messages))
			}
			if tt.doubtful != (s.Duplicates > 0) {
				t.Errorf("%d possible duplicates", s.Duplicates)
			}
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if !strings.Contains(log.String(), tt.reported) {
				t.Errorf("reported %s, want %q", log, tt.reported)
			}
		})
	}
}

// wait looks again, after twice as long each time, for half a minute: real sockets
// have no time of a test's.
func wait(t *testing.T, done func() bool) {
	t.Helper()
	for d := time.Millisecond; !done(); d *= 2 {
		if d > 16*time.Second {
			t.Fatal("nothing has come of an attempt")
		}
		time.Sleep(d)
	}
}
