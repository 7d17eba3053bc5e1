// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
)

// ListenAndServe answers requests to addr with h until ctx ends. It is for programs that
// have no server of their own. addr is a loopback address with a port, such as
// "localhost:6060". When ctx ends, so do the contexts of requests, which then have five
// seconds.
//
// It returns nil after ctx has ended. It fails at once if addr is not a loopback address,
// because profiles are not for everyone. It also fails if it cannot listen on addr. The server's
// own errors go to otel.Handle.
func ListenAndServe(ctx context.Context, addr string, h http.Handler) error {
	local, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return fmt.Errorf("viewer: %w", err)
	}
	if !local.IP.IsLoopback() {
		return fmt.Errorf("viewer: %q is not a loopback address: listen on \"localhost:%d\", or mount the handler on a server that checks its clients", addr, local.Port)
	}
	listener, err := net.ListenTCP("tcp", local)
	if err != nil {
		return fmt.Errorf("viewer: %w", err)
	}
	return Serve(ctx, listener, h)
}

// Serve is ListenAndServe for a listener that the program has opened itself. Serve closes it. It
// does not look at the listener's address: beyond loopback addresses, the program
// checks the clients.
func Serve(ctx context.Context, listener net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute, // a flush waits for the windows that it closes
		IdleTimeout:       2 * time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          log.New(handled{}, "viewer: ", 0),
	}
	down := make(chan struct{}) // Closed when the server is down.
	stop := context.AfterFunc(ctx, func() {
		defer close(down)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if server.Shutdown(end) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(listener)
	if stop() {
		return fmt.Errorf("viewer: %w", err)
	}
	<-down
	return nil
}

// handled sends the lines of a log to otel.Handle.
type handled struct{}

func (handled) Write(line []byte) (int, error) {
	otel.Handle(errors.New(strings.TrimSpace(string(line))))
	return len(line), nil
}
