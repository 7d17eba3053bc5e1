// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// layer is a kind of Collector.
type layer struct {
	name                 string
	otlp, pprof, metrics string               // addresses
	programs             map[string]string    // by build
	cpu                  map[string][]float64 // seconds for a million spans, by build
	process              *exec.Cmd
	ended                chan error // has the result of process
}

// patience is for what takes a second or two on a machine that has nothing else to do.
const patience = 2 * time.Minute

// choosePorts gives each layer addresses that are free now. It keeps them, because spanprof
// record names its directories by them.
func choosePorts(layers []*layer) error {
	for _, l := range layers {
		for _, address := range []*string{&l.otlp, &l.pprof, &l.metrics} {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer func() { _ = listener.Close() }() // when all have one
			*address = listener.Addr().String()
		}
	}
	return nil
}

// environment is what the configurations in examples/collector-pgo ask for.
func (b *bench) environment() []string {
	env := os.Environ()
	for _, l := range b.layers {
		prefix := strings.ToUpper(l.name)
		_, port, _ := net.SplitHostPort(l.metrics)
		env = append(env, prefix+"_OTLP="+l.otlp, prefix+"_PPROF="+l.pprof, prefix+"_METRICS="+port)
	}
	if len(b.layers) == 1 {
		env = append(env, "EDGE_EXPORTER=nop")
	}
	return env
}

// start runs the program of a build and waits until it takes spans.
func (l *layer) start(ctx context.Context, b *bench, build string) error {
	file := filepath.Join(b.dir, l.name+".log")
	log, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	l.process = exec.CommandContext(ctx, l.programs[build], "--config", "examples/collector-pgo/"+l.name+".yaml")
	l.process.Stdout, l.process.Stderr, l.process.Env = log, log, b.environment()
	if err := l.process.Start(); err != nil {
		return err
	}
	l.ended = make(chan error, 1)
	go func() { l.ended <- l.process.Wait() }()
	return l.until(ctx, "takes spans", func() (bool, error) {
		conn, err := net.Dial("tcp", l.otlp)
		if err != nil {
			return false, nil
		}
		return true, conn.Close()
	})
}

// stop ends the program.
func (l *layer) stop() error {
	if l.ended == nil {
		return nil
	}
	defer func() { l.ended = nil }()
	_ = l.process.Process.Signal(os.Interrupt) // an error says that it has ended
	select {
	case err := <-l.ended:
		return err
	case <-time.After(patience):
		_ = l.process.Process.Kill()
		return fmt.Errorf("%s does not end on a signal", l.name)
	}
}

// until asks again and again until the layer has come so far.
func (l *layer) until(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case err := <-l.ended:
			l.ended = nil
			return fmt.Errorf("%s has ended (%w): read its log", l.name, err)
		case <-ctx.Done():
			return fmt.Errorf("wait until %s %s: %w", l.name, what, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// settled reports whether the layer is through with all spans.
func (l *layer) settled(ctx context.Context, b *bench, sent int) (bool, error) {
	m, err := l.read(ctx)
	switch {
	case err != nil:
		return false, err
	case m.refused > 0 || m.accepted > sent:
		return false, fmt.Errorf("%s has taken %d spans and refused %d of %d", l.name, m.accepted, m.refused, sent)
	case m.accepted < sent:
		return false, nil
	case l.name == "gateway":
		return m.decided == sent/spansOfTrace, nil
	default:
		return len(b.layers) == 1 || m.sent == sent, nil
	}
}

// spansOfTrace is how many spans a trace of otlpload has.
const spansOfTrace = 10

// numbers are what a Collector says of itself.
type numbers struct {
	cpu                     float64 // seconds
	accepted, refused, sent int     // spans
	decided                 int     // traces, by tail_sampling
}

// read asks the Collector for its own metrics, as its operator would.
func (l *layer) read(ctx context.Context) (n numbers, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.metrics+"/metrics", http.NoBody)
	if err != nil {
		return n, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return n, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return n, errors.New(l.name + ": metrics: " + response.Status)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), "{")
		if rest == "" {
			name, _, _ = strings.Cut(name, " ")
		}
		value, err := strconv.ParseFloat(lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:], 64)
		if err != nil {
			continue // a comment
		}
		switch name {
		case "otelcol_process_cpu_seconds":
			n.cpu = value
		case "otelcol_receiver_accepted_spans":
			n.accepted += int(value)
		case "otelcol_receiver_refused_spans", "otelcol_receiver_failed_spans":
			n.refused += int(value)
		case "otelcol_exporter_sent_spans":
			n.sent += int(value)
		case "otelcol_processor_tail_sampling_global_count_traces_sampled":
			n.decided += int(value)
		}
	}
	return n, lines.Err()
}
