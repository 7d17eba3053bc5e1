// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/spanprof/spanprof/viewer/internal/server"
)

// ListenAndServe answers requests to addr with h until ctx ends. It is for programs that
// have no server of their own. addr is a loopback address with a port, such as
// "localhost:6060". When ctx ends, so do the contexts of requests, which then have five
// seconds.
//
// It returns nil after ctx has ended. It fails at once if addr is not a loopback address,
// for profiles are not for everyone, or if it cannot listen on addr. The server's own
// errors go to otel.Handle.
func ListenAndServe(ctx context.Context, addr string, h http.Handler) error {
	local, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return fmt.Errorf("viewer: %w", err)
	}
	if !local.IP.IsLoopback() {
		return fmt.Errorf("viewer: %q is not a loopback address: listen on \"localhost:%d\", or mount the handler on a server that decides who may look", addr, local.Port)
	}
	listener, err := net.ListenTCP("tcp", local)
	if err != nil {
		return fmt.Errorf("viewer: %w", err)
	}
	return server.Serve(ctx, listener, h)
}

// Serve is ListenAndServe for a listener that the program has opened itself, and that
// Serve closes. It does not look at the listener's address: on one that is not a loopback
// address, the program decides who may look.
func Serve(ctx context.Context, listener net.Listener, h http.Handler) error {
	return server.Serve(ctx, listener, h)
}
