// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/fileview"
	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/viewer"
)

var viewCommand = command{
	name:     "view",
	synopsis: "[FLAG]... SOURCE...",
	summary:  "shows profiles on a page; two SOURCEs beside each other",
	run:      runView,
}

// names collects a flag that may be given several times.
type names []string

func (n *names) String() string { return strings.Join(*n, ",") }

func (n *names) Set(name string) error {
	*n = append(*n, name)
	return nil
}

// page is what runView serves.
type page struct {
	http.Handler
	// path is what to open.
	path string
}

func runView(ctx context.Context, c *call) error {
	var hosts names
	listen := c.String("listen", "127.0.0.1:0", "the `address` to listen on; port 0 means any that is free")
	c.Var(&hosts, "allow-host", "answer requests to this host `name` too, beside loopback names; may be repeated")
	maxBytes := c.Int64("max-bytes", 1<<30, "how much memory the profiles of files may take, in `bytes`")
	if err := c.parse(); err != nil {
		return err
	}
	if c.NArg() == 0 {
		return errors.New("view: name a SOURCE, such as a directory of profiles")
	}
	listener, err := openListener(*listen, hosts)
	if err != nil {
		return err
	}
	p, err := fileViewOf(ctx, c, *maxBytes, viewer.WithAllowedHosts(hosts...))
	if err != nil {
		_ = listener.Close()
		return err
	}
	_, _ = fmt.Fprintf(c.stdout, "Open http://%s%s\n", listener.Addr(), p.path)
	return viewer.Serve(ctx, listener, p)
}

// openListener listens on an address. Behind an address that others reach, somebody must
// have thought of who may look.
func openListener(address string, hosts names) (net.Listener, error) {
	local, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("view: -listen: %w", err)
	}
	if !local.IP.IsLoopback() && len(hosts) == 0 {
		return nil, fmt.Errorf("view: -listen %s: others can reach this address, and the page asks for no password: put an authenticating proxy in front, and say by -allow-host which host names it is reached under", address)
	}
	listener, err := net.ListenTCP("tcp", local)
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	return listener, nil
}

// fileViewOf loads the profiles of sources that can be read as a whole.
func fileViewOf(ctx context.Context, c *call, maxBytes int64, opts ...viewer.Option) (page, error) {
	sets := []fileview.Set{{Name: "all"}}
	if c.NArg() == 2 {
		sets = []fileview.Set{{Name: "before"}, {Name: "after"}}
	}
	for i, arg := range c.Args() {
		src, err := source.Parse(arg)
		if err != nil {
			return page{}, fmt.Errorf("view: %w", err)
		}
		set := &sets[i*(len(sets)-1)]
		set.Sources = append(set.Sources, src)
	}
	start := time.Now()
	loaded, err := fileview.Load(ctx, sets, maxBytes, func(err error) {
		_, _ = fmt.Fprintln(c.stderr, "spanprof: view:", err)
	})
	if err != nil {
		return page{}, fmt.Errorf("view: %w", err)
	}
	path, err := loaded.Path(ctx)
	if err != nil {
		return page{}, fmt.Errorf("view: %w", err)
	}
	c.progressf("%d profiles in %s", loaded.Profiles, time.Since(start).Round(time.Millisecond))
	for _, note := range loaded.Notes() {
		_, _ = fmt.Fprintln(c.stderr, "spanprof: view:", note)
	}
	return page{loaded.Handler(opts...), path}, nil
}
