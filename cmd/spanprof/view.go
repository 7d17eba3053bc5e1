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

	"github.com/spanprof/spanprof/cmd/spanprof/internal/fileview"
	"github.com/spanprof/spanprof/cmd/spanprof/internal/pyroscopeview"
	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/internal/untrusted"
	"github.com/spanprof/spanprof/viewer"
)

var viewCommand = command{
	name:     "view",
	synopsis: "[FLAG]... SOURCE...",
	summary:  "shows profiles on a page; compares two SOURCEs, each may be a quoted list",
	example: `$ spanprof view recordings
Open http://127.0.0.1:41093/
$ spanprof view pyroscope+http://pyroscope:4040
Open http://127.0.0.1:35571/`,
	run: runView,
}

func runView(ctx context.Context, c *call) error {
	var hosts []string
	listen := c.String("listen", "127.0.0.1:0", "the `address` to listen on; port 0 means any that is free")
	c.Func("allow-host", "answer requests to this host `name` too, beside loopback names; may be repeated", func(name string) error {
		hosts = append(hosts, name)
		return nil
	})
	maxBytes := c.Int64("max-bytes", maxPage, "how much memory the profiles of files may take, in `bytes`")
	if err := c.parse(); err != nil {
		return err
	}
	if c.NArg() == 0 {
		return errors.New("view: name a SOURCE, such as a directory of profiles")
	}
	untrusted.LimitMemory(max(*maxBytes, maxPage) + 128<<20)
	listener, err := openListener(*listen, len(hosts) > 0)
	if err != nil {
		return fmt.Errorf("view: -listen %s: %w", *listen, err)
	}
	var page http.Handler
	path := "/"
	loaded := make(chan error, 1)
	go func() { // a signal ends the command also if this does not return
		var err error
		if c.NArg() == 1 && strings.HasPrefix(c.Arg(0), "pyroscope+") && !strings.Contains(c.Arg(0), "?") {
			page, err = pyroscopePage(c, viewer.WithAllowedHosts(hosts...))
		} else {
			page, path, err = filePage(ctx, c, *maxBytes, viewer.WithAllowedHosts(hosts...))
		}
		loaded <- err
	}()
	select {
	case err = <-loaded:
	case <-ctx.Done():
		err = errors.New("interrupted before all profiles were loaded")
	}
	if err != nil {
		_ = listener.Close()
		return fmt.Errorf("view: %w", err)
	}
	_, _ = fmt.Fprintf(c.stdout, "Open http://%s%s\n", listener.Addr(), path)
	return viewer.Serve(ctx, listener, page)
}

// maxPage bounds the memory of a page's profiles.
const maxPage = 384 << 20

// openListener listens on an address. Addresses other than loopback need -allow-host.
func openListener(address string, allowed bool) (net.Listener, error) {
	local, err := net.ResolveTCPAddr("tcp", address)
	if err == nil && !local.IP.IsLoopback() && !allowed {
		err = errors.New("others can reach this address, and the page needs no password: put an authenticating proxy in front of spanprof view, and give the host names it is reached under with -allow-host")
	}
	if err != nil {
		return nil, err
	}
	return net.ListenTCP("tcp", local)
}

// filePage loads a directory of store.WithDirectory, or the profiles of sources that can be
// read as a whole. It returns the page and the path to open.
func filePage(ctx context.Context, c *call, maxBytes int64, opts ...viewer.Option) (http.Handler, string, error) {
	report := func(err error) { _, _ = fmt.Fprintln(c.stderr, "spanprof: view:", err) }
	var loaded *fileview.Page
	var err error
	ok := false
	if c.NArg() == 1 {
		loaded, ok, err = fileview.OpenDirectory(c.Arg(0), maxBytes, report)
	}
	if !ok {
		loaded, err = fileview.Load(ctx, setsOf(c.Args()), maxBytes, report)
	}
	if err != nil {
		return nil, "", err
	}
	for _, note := range loaded.Notes {
		_, _ = fmt.Fprintln(c.stderr, "spanprof: view:", note)
	}
	return viewer.Handler(loaded, opts...), loaded.Path(), nil
}

// setsOf returns two sets of two arguments, or else one.
func setsOf(args []string) []fileview.Set {
	if len(args) == 2 {
		return []fileview.Set{{Name: "before", Sources: list(args[0])}, {Name: "after", Sources: list(args[1])}}
	}
	return []fileview.Set{{Sources: args}}
}

// maxAnswer bounds an answer of a Pyroscope server.
const maxAnswer = 64 << 20

// pyroscopePage shows what a server has. With a query, what it selects is loaded as files are.
func pyroscopePage(c *call, opts ...viewer.Option) (http.Handler, error) {
	address, err := source.ParseAddress(c.Arg(0))
	if err != nil {
		return nil, err
	}
	client, err := querier.New(address, maxAnswer)
	if err != nil {
		return nil, err
	}
	client.ReportTo(func(text string) { _, _ = fmt.Fprintln(c.stderr, "spanprof: view:", text) })
	return pyroscopeview.Handler(client, opts...), nil
}
