// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// run serves until ctx ends, or one of its parts fails. It writes to out where.
func run(ctx context.Context, c config, out io.Writer) error {
	kept, err := store.New(store.WithMaxBytes(256 << 20))
	if err != nil {
		return err
	}
	counted := &processes{Exporter: kept}
	host, err := receiver.NewHost(counted)
	if err != nil {
		return err
	}
	agents, err := receiver.Listen(c.listen)
	if err != nil {
		return fmt.Errorf("-listen: %w", err)
	}
	defer func() { _ = agents.Close() }()
	pages, err := listen(c.page)
	if err != nil {
		return fmt.Errorf("-page: %w", err)
	}
	status := &pageStatus{host: host.Status, processes: counted, agents: c.listen}
	page := &machine{source{kept}, status.status, viewer.Handler(source{kept}, viewer.WithStatus(status.status))}

	fmt.Fprintf(out, "hostview: agents send to unix://%s (OTLP/gRPC); the page is http://%s/\n", c.listen, pages.Addr())
	parts := []func(context.Context) error{
		func(ctx context.Context) error { return host.ServeGRPC(ctx, agents) },
		func(ctx context.Context) error { return viewer.Serve(ctx, pages, page) },
	}
	if c.socket != "" {
		fmt.Fprintf(out, "hostview: programs get their own samples from %s\n", c.socket)
		parts = append(parts, func(ctx context.Context) error { return host.ServeSocket(ctx, c.socket) })
	}
	return together(ctx, parts)
}

// listen listens on the loopback address of the page, which shows everything.
func listen(address string) (net.Listener, error) {
	local, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if !local.IP.IsLoopback() {
		return nil, fmt.Errorf("%q is not a loopback address", address)
	}
	return net.ListenTCP("tcp", local)
}

// together runs all until ctx ends or the first of them fails, and returns when all have
// ended.
func together(ctx context.Context, parts []func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(parts))
	var running sync.WaitGroup
	for i, part := range parts {
		running.Go(func() {
			defer stop()
			errs[i] = part(ctx)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
