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
	"net/http"
	"strconv"
	"syscall"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/internal/wire"
)

// Delivery is an answer of a server.
type Delivery struct {
	// Message is nil if only Lost is known.
	Message *collectorpb.ExportProfilesServiceRequest
	// Connection names this connection, and the agent's to the server.
	Connection string
	// Lost are the samples that were lost since the last delivery.
	Lost int
}

// Bounds on the time between two attempts to connect.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// Read takes what a server hands to this process until ctx ends. It connects again whenever
// it loses the connection, and calls failed with each reason. The server may start later.
func Read(ctx context.Context, socket string, take func(Delivery), failed func(error)) error {
	if err := checkPath(socket); err != nil {
		return err
	}
	backoff := minBackoff
	for n := 0; ctx.Err() == nil; n++ {
		connected, err := read(ctx, socket, fmt.Sprintf("%s#%d", socket, n), take)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is how reading ends
		}
		failed(fmt.Errorf("socket %s: %w", socket, err))
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
func read(ctx context.Context, socket, name string, take func(Delivery)) (connected bool, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		stop()
		_ = conn.Close()
	}()
	// A limit for each answer, because http.ReadResponse has no limit on headers.
	limited := &io.LimitedReader{R: conn}
	for in := bufio.NewReader(limited); ; connected = true {
		limited.N = maxMessage + 64<<10
		d, err := request(conn, in)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
			err = errors.New("the server has closed the connection")
		}
		if err != nil {
			return connected, err
		}
		d.Connection = name + "/" + d.Connection
		if d.Message != nil || d.Lost > 0 {
			take(d)
		}
	}
}

// request sends one request, and reads the answer.
func request(conn net.Conn, in *bufio.Reader) (d Delivery, err error) {
	if err := conn.SetDeadline(time.Now().Add(3 * hold)); err != nil {
		return d, err
	}
	// A server that refuses this process may have closed the connection. It has answered.
	_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: hostview\r\n\r\n")
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		return d, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMessage+1))
	d.Connection = response.Header.Get(agentHeader)
	lost, _ := strconv.ParseUint(response.Header.Get(lostHeader), 10, 31)
	d.Lost = int(lost)
	switch code := response.StatusCode; {
	case err != nil:
	case code == http.StatusNoContent:
	case code == http.StatusForbidden:
		err = fmt.Errorf("the server refuses this process: %.1000s", body)
	case code != http.StatusOK || d.Connection == "":
		err = fmt.Errorf("no hostview of this version listens there: got status %.100q", response.Status)
	case len(body) > maxMessage:
		err = fmt.Errorf("a message of more than %d bytes", maxMessage)
	default:
		d.Message, err = Unmarshal(body)
	}
	return d, err
}

// Unmarshal decodes a message within a bound on its memory.
func Unmarshal(b []byte) (*collectorpb.ExportProfilesServiceRequest, error) {
	if err := wire.OTLP.Check(b, wire.MaxMessage); err != nil {
		return nil, err
	}
	m := new(collectorpb.ExportProfilesServiceRequest)
	return m, proto.Unmarshal(b, m)
}
