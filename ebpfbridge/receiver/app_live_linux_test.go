// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package receiver

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// appVariable makes the test binary a program that subscribes to a socket.
const appVariable = "SPANPROF_TEST_APP"

func init() {
	if path := os.Getenv(appVariable); path != "" {
		os.Exit(runApp(path))
	}
}

// workVariable names the work of the program: "hash" or "sum"; no work if it is not set.
const workVariable = "SPANPROF_TEST_WORK"

// appResult is the program's report of what it received.
type appResult struct {
	PID       int   // os.Getpid of the program
	Samples   int64 // all received samples
	Mine      int64 // samples with the function of its work
	Others    int64 // samples with the function of the other program's work
	WithSpans int64 // samples with a label span_id
	Kinds     map[exporter.Kind]int
	Status    Status
}

// app is an Exporter that counts received samples.
type app struct {
	appResult
	work, other string
	got         atomic.Int64
}

func (a *app) Export(_ context.Context, p *exporter.Profile) error {
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	a.Kinds[p.Kind()]++
	for _, s := range parsed.Sample {
		var names strings.Builder
		for _, l := range s.Location {
			for _, line := range l.Line {
				names.WriteString(line.Function.Name + "\n")
			}
		}
		n := s.Value[0]
		a.Samples += n
		if a.work != "" && strings.Contains(names.String(), a.work) {
			a.Mine += n
		}
		if a.other != "" && strings.Contains(names.String(), a.other) {
			a.Others += n
		}
		if len(s.Label[labelkey.SpanID]) > 0 {
			a.WithSpans += n
		}
	}
	a.got.Store(a.Samples)
	return nil
}

func (*app) ForceFlush(context.Context) error { return nil }
func (*app) Shutdown(context.Context) error   { return nil }

//go:noinline
func workOfHash() {
	sum := []byte("hash")
	for range 10_000 {
		next := sha256.Sum256(sum)
		sum = next[:]
	}
}

//go:noinline
func workOfSum() {
	b := make([]byte, 1<<16)
	for range 100 {
		b[0] = byte(crc32.ChecksumIEEE(b))
	}
}

// runApp subscribes, works, and reads from its input how many samples it must get.
// Then it prints its result.
func runApp(path string) int {
	a := &app{appResult: appResult{PID: os.Getpid(), Kinds: map[exporter.Kind]int{}}}
	work := func() { time.Sleep(time.Millisecond) }
	switch os.Getenv(workVariable) {
	case "hash":
		work, a.work, a.other = workOfHash, "workOfHash", "workOfSum"
	case "sum":
		work, a.work, a.other = workOfSum, "workOfSum", "workOfHash"
	}
	r, err := New(a, func(string) (Span, bool) { return Span{}, true })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := context.WithCancel(context.Background())
	subscribed := make(chan error, 1)
	go func() { subscribed <- r.Subscribe(ctx, path) }()
	wanted := make(chan int64, 1)
	go func() {
		var n int64
		if _, err := fmt.Fscan(bufio.NewReader(os.Stdin), &n); err != nil {
			n = 0 // the test has ended
		}
		wanted <- n
	}()
	n := int64(-1)
	for n < 0 || a.got.Load() < n {
		pprof.Do(ctx, pprof.Labels(labelkey.SpanID, checkoutID, labelkey.ProfileID, checkoutID), func(context.Context) { work() })
		select {
		case n = <-wanted:
		default:
		}
	}
	stop()
	if err := <-subscribed; err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	a.Status = r.Status()
	if err := json.NewEncoder(os.Stdout).Encode(a.appResult); err != nil {
		return 1
	}
	return 0
}
