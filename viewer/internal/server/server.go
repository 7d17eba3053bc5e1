// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package server serves HTTP on a listener for as long as a context lasts.
package server

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

// grace is the time that requests have to end after the context has ended.
const grace = 5 * time.Second

// Serve answers requests with h until ctx ends, and returns nil after that. It fails if the
// listener does. The server's own errors go to otel.Handle.
func Serve(ctx context.Context, listener net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		// A flush waits for the windows that it closes, and a heavy query for
		// the one before it.
		WriteTimeout: 2 * time.Minute,
		IdleTimeout:  2 * time.Minute,
		BaseContext:  func(net.Listener) context.Context { return ctx },
		ErrorLog:     log.New(handled{}, "viewer: ", 0),
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
