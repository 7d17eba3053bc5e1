// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Hostview shows what an OpenTelemetry eBPF profiling agent measures of a whole machine,
// and hands programs their own samples.
//
//	hostview -listen /run/spanprof-agent/otlp.sock -socket /run/spanprof/host.sock
//	ebpf-profiler -collection-agent unix:///run/spanprof-agent/otlp.sock -disable-tls -t all,labels
//
// The first page shows what uses the machine. Below spans/ are the spans of Go programs with
// spanprof, and all pages of package viewer. Samples have the labels of [receiver.NewHost].
//
// Only the agent needs privileges. Hostview refuses samples of users other than root and its
// own. Only these may have write permission for the directory of -listen. Do not give programs
// this directory: -socket has another one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	c, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = run(ctx, c, os.Stderr)
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "hostview:", err)
		os.Exit(1)
	}
}

// config has the values of the flags.
type config struct {
	listen, page, socket string
}

// parse returns an error for flags that cannot be met, and flag.ErrHelp for -help.
func parse(args []string, out io.Writer) (config, error) {
	var c config
	fs := flag.NewFlagSet("hostview", flag.ContinueOnError)
	fs.SetOutput(out)
	fs.StringVar(&c.listen, "listen", "/run/spanprof-agent/otlp.sock", "absolute `path` of a socket for agents, which send OTLP/gRPC: ebpf-profiler -collection-agent unix://PATH. Only root and hostview's user may have write permission for its directory")
	fs.StringVar(&c.page, "page", "127.0.0.1:6061", "loopback `address` of the page")
	fs.StringVar(&c.socket, "socket", "", "`path` of a socket that hands each program that connects its own samples; empty for none. It needs the host's pid namespace")
	if err := fs.Parse(args); err != nil {
		return config{}, err
	}
	switch {
	case fs.NArg() > 0:
		return config{}, fmt.Errorf("%q is no flag: hostview has flags only, see -help", fs.Arg(0))
	case !filepath.IsAbs(c.listen):
		return config{}, fmt.Errorf("-listen %s: give the absolute path of a socket. Agents send to it with -collection-agent unix://PATH", c.listen)
	case filepath.Dir(c.listen) == filepath.Dir(c.socket):
		return config{}, fmt.Errorf("-listen and -socket are both in %s: give them two directories, because containers mount the directory of -socket", filepath.Dir(c.socket))
	}
	return c, nil
}
