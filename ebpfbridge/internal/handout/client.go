// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/internal/wire"
)

// Delivery is what a server sends.
type Delivery struct {
	// Message is nil if only Lost is known.
	Message *collectorpb.ExportProfilesServiceRequest
	// Connection names this connection, and the agent's to the server.
	Connection string
	// Lost are the samples that were lost since the last delivery.
	Lost uint64
}

// Backoff bounds the time between two attempts to connect.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// Read reads what a server hands to this process until ctx ends, and connects again
// whenever the connection is lost. failed is called with each reason: it may be that the
// server does not run yet.
func Read(ctx context.Context, path string, take func(Delivery), failed func(error)) error {
	if err := checkPath(path); err != nil {
		return err
	}
	backoff := minBackoff
	for n := 0; ctx.Err() == nil; n++ {
		connected, err := read(ctx, path, fmt.Sprintf("%s#%d", path, n), take)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is how reading ends
		}
		failed(fmt.Errorf("socket %s: %w", path, err))
		if connected {
			backoff = minBackoff
		}
		select {
		case <-ctx.Done():
		case <-time.After(backoff/2 + rand.N(backoff/2)): // not all programs at once
		}
		backoff = min(2*backoff, maxBackoff)
	}
	return nil
}

// read reads one connection. connected is whether the server serves this process.
func read(ctx context.Context, path, name string, take func(Delivery)) (connected bool, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		stop()
		_ = conn.Close()
	}()
	in := bufio.NewReader(conn)
	if err := conn.SetReadDeadline(time.Now().Add(maxBackoff)); err != nil {
		return false, err
	}
	if err := readHello(in); err != nil {
		return false, err
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return false, err
	}
	for lost := uint64(0); ; {
		h, payload, err := readFrame(in)
		if errors.Is(err, io.EOF) {
			return connected, errors.New("the server has closed the connection")
		}
		if err != nil {
			return connected, err
		}
		if h.Kind == kindRefusal {
			return false, fmt.Errorf("the server refuses this process: %s", payload)
		}
		connected = true
		d := Delivery{Connection: fmt.Sprintf("%s/%x", name, h.Agent), Lost: h.Lost - lost}
		if h.Lost < lost {
			return connected, errors.New("the server's count of lost samples went down")
		}
		lost = h.Lost
		if h.Length > 0 {
			if d.Message, err = Unmarshal(payload); err != nil {
				return connected, err
			}
		}
		take(d)
	}
}

// Unmarshal decodes a message within a bound on its memory.
func Unmarshal(b []byte) (*collectorpb.ExportProfilesServiceRequest, error) {
	if err := wire.OTLP.Check(b, wire.MaxMessage); err != nil {
		return nil, err
	}
	m := new(collectorpb.ExportProfilesServiceRequest)
	return m, proto.Unmarshal(b, m)
}
