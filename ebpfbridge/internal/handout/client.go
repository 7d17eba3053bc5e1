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
	"syscall"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/internal/wire"
)

// Take takes a message. connection names the connection to the server, and the agent's.
type Take func(connection string, m *collectorpb.ExportProfilesServiceRequest)

// Bounds on the time between two attempts to connect.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// Read takes what a server hands to this process until ctx ends. It connects again whenever
// it loses the connection, and calls failed with each reason. The server may start later.
func Read(ctx context.Context, socket string, take Take, failed func(error)) error {
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
func read(ctx context.Context, socket, name string, take Take) (connected bool, err error) {
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
		agent, m, err := request(conn, in)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
			err = errors.New("the server has closed the connection")
		}
		if err != nil {
			return connected, err
		}
		if m != nil {
			take(name+"/"+agent, m)
		}
	}
}

// request sends one request, and reads the answer: a message of an agent, or nil.
func request(conn net.Conn, in *bufio.Reader) (agent string, m *collectorpb.ExportProfilesServiceRequest, err error) {
	if err := conn.SetDeadline(time.Now().Add(3 * hold)); err != nil {
		return "", nil, err
	}
	// A server that refuses this process may have closed the connection. It has answered.
	_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: hostview\r\n\r\n")
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMessage+1))
	agent = response.Header.Get(agentHeader)
	switch code := response.StatusCode; {
	case err != nil:
	case code == http.StatusNoContent:
	case code == http.StatusForbidden:
		err = fmt.Errorf("the server refuses this process: %.1000s", body)
	case code != http.StatusOK || agent == "":
		err = fmt.Errorf("no hostview of this version listens there: got status %.100q", response.Status)
	case len(body) > maxMessage:
		err = fmt.Errorf("a message of more than %d bytes", maxMessage)
	default:
		m, err = Unmarshal(body)
	}
	return agent, m, err
}

// Unmarshal decodes a message within a bound on its memory.
func Unmarshal(b []byte) (*collectorpb.ExportProfilesServiceRequest, error) {
	if err := wire.OTLP.Check(b, wire.MaxMessage); err != nil {
		return nil, err
	}
	m := new(collectorpb.ExportProfilesServiceRequest)
	return m, proto.Unmarshal(b, m)
}
