// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
)

// ListenAndServe answers requests to addr with h until ctx ends; it is for
// programs that have no server of their own. addr is a loopback address with a
// port, such as "localhost:6060". Requests that are being answered have five
// seconds to end when ctx does, and their contexts end with it.
//
// It returns nil after ctx has ended. It fails at once where addr is not a
// loopback address, for what is shown is not for everyone, and where it cannot
// be listened on. What the server itself complains of goes to otel.Handle.
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
	return serve(ctx, listener, h)
}

// grace is how long requests may go on after the end.
const grace = 5 * time.Second

func serve(ctx context.Context, listener net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		// A flush waits for the profiles that it closes, and a heavy query
		// for the one before it.
		WriteTimeout: 2 * time.Minute,
		IdleTimeout:  2 * time.Minute,
		BaseContext:  func(net.Listener) context.Context { return ctx },
		ErrorLog:     stdlog.New(handled{}, "viewer: ", 0),
	}
	down := make(chan struct{}) // Closed when the server is down.
	stop := context.AfterFunc(ctx, func() {
		defer close(down)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
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

// handled is a log whose lines go to otel.Handle.
type handled struct{}

func (handled) Write(line []byte) (int, error) {
	otel.Handle(errors.New(strings.TrimSpace(string(line))))
	return len(line), nil
}
