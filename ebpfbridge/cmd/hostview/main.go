// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Hostview shows what an OpenTelemetry eBPF profiling agent measures of a whole machine,
// and hands programs their own samples.
//
//	hostview -listen 127.0.0.1:11000 -page 127.0.0.1:6061 -socket /run/spanprof/host.sock
//	ebpf-profiler -collection-agent 127.0.0.1:11000 -disable-tls -t all,labels
//
// The page has flame graphs, functions and executables of each service, and of each span
// of Go programs that use spanprof. A service is what the agent says, or else the name of
// an executable; samples have the process id as the label process_pid. The agent's samples
// are CPU time here, query them as such:
//
//	http://127.0.0.1:6061/?query=nginx.cpu{process_pid="4711"}
//
// Only the agent needs privileges. Hostview names the functions of C code whose files it
// may read: as root, those of all processes. With -socket, it must run in the host's pid
// namespace; Receiver.Subscribe of package ebpfbridge/receiver is the programs' side.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	c, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostview:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, c, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostview:", err)
		os.Exit(1)
	}
}

// config is what the flags say.
type config struct {
	listen, page, socket string
	socketMode           os.FileMode
	window               time.Duration
	maxMiB               int64
	maxProcesses         int
}

// parse returns an error for flags that cannot be met, and flag.ErrHelp for -help.
func parse(args []string, out io.Writer) (config, error) {
	var c config
	fs := flag.NewFlagSet("hostview", flag.ContinueOnError)
	fs.SetOutput(out)
	fs.StringVar(&c.listen, "listen", "127.0.0.1:11000", "loopback `address` for agents, which send OTLP/gRPC: the -collection-agent of ebpf-profiler")
	fs.StringVar(&c.page, "page", "127.0.0.1:6061", "loopback `address` of the page")
	fs.StringVar(&c.socket, "socket", "", "`path` of a socket that hands each program that connects its own samples; empty for none. It needs the host's pid namespace")
	mode := fs.String("socket-mode", "0666", "permissions of the socket, in octal: who may write to it may connect, and gets its own samples only")
	fs.DurationVar(&c.window, "window", 10*time.Second, "how long samples are added up before the page shows them")
	fs.Int64Var(&c.maxMiB, "max-mib", 256, "memory for what the page shows, in MiB; the oldest samples make room")
	fs.IntVar(&c.maxProcesses, "max-processes", 2000, "processes in a window; samples of further ones are counted as lost")
	fs.Usage = func() {
		fmt.Fprint(out, "Hostview shows what an eBPF profiling agent measures of this machine, and hands\nprograms their own samples.\n\nusage: hostview [flags]\n\n")
		fs.PrintDefaults()
		fmt.Fprint(out, "\nThe agent, as root: ebpf-profiler -collection-agent 127.0.0.1:11000 -disable-tls -t all,labels\n")
	}
	if err := fs.Parse(args); err != nil {
		return config{}, err
	}
	bits, err := strconv.ParseUint(*mode, 8, 32)
	switch {
	case fs.NArg() > 0:
		return config{}, fmt.Errorf("%q is no flag: hostview has flags only, see -help", fs.Arg(0))
	case err != nil || bits > 0o777:
		return config{}, fmt.Errorf("-socket-mode %s: give octal permissions such as 0666", *mode)
	case c.window < time.Second || c.window > time.Hour:
		return config{}, fmt.Errorf("-window %v: give one second to one hour", c.window)
	case c.maxMiB < 1 || c.maxMiB > 1<<20:
		return config{}, fmt.Errorf("-max-mib %d: give 1 to %d", c.maxMiB, 1<<20)
	case c.maxProcesses < 1:
		return config{}, fmt.Errorf("-max-processes %d: give 1 or more", c.maxProcesses)
	}
	c.socketMode = os.FileMode(bits)
	return c, nil
}
