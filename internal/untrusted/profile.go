// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package untrusted decodes profiles from files, servers and other processes.
package untrusted

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/wire"
)

var decoding sync.Mutex // one profile at a time

var limited atomic.Bool

// LimitMemory sets the memory limit of a command, unless GOMEMLIMIT does. Profile then also
// refuses what does not fit beside the heap. Work on profiles takes up to as much again.
func LimitMemory(bytes int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes)
	}
	limited.Store(true)
}

// Profile decodes a valid profile in pprof's format, gzipped or not. More than maxBytes
// unpacked, or wire.MaxProfile decoded, is an error with the cause wire.ErrTooLarge.
func Profile(data []byte, maxBytes int64) (p *profile.Profile, err error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if data, err = wire.Inflate(data, maxBytes); err != nil {
			return nil, err
		}
	}
	decoding.Lock()
	defer decoding.Unlock()
	if err = check(data); err != nil {
		return nil, err
	}
	return decode(data, profile.ParseUncompressed)
}

// decode returns a valid profile; the caller holds decoding.
func decode(data []byte, parse func([]byte) (*profile.Profile, error)) (p *profile.Profile, err error) {
	defer func() {
		if r := recover(); r != nil { // the decoder is not ours
			p, err = nil, fmt.Errorf("a panic: %v", r)
		}
	}()
	if p, err = parse(data); err == nil {
		err = p.CheckValid()
	}
	return p, err
}

func check(data []byte) error {
	err := wire.Pprof.Check(data, wire.MaxProfile)
	if err != nil || !limited.Load() {
		return err // a service is not stopped, and collects no garbage here
	}
	var left int64
	for range 2 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if left = max(0, debug.SetMemoryLimit(-1)-int64(m.HeapAlloc)); wire.Pprof.Check(data, left) == nil {
			return nil
		}
		runtime.GC() // the heap includes garbage
	}
	return fmt.Errorf("%w: only %d MiB of the memory limit (GOMEMLIMIT) are free", wire.ErrTooLarge, left>>20)
}

// maxText bounds a heap profile as text: decoded it takes up to 30 times as much.
const maxText = 8 << 20

// format is a format of another tool, and how to get a profile instead.
type format struct {
	start  *regexp.Regexp
	remedy string
}

// pprofInstead ends the remedy for formats that several tools write.
const pprofInstead = "record in the pprof format instead, as rbspy and async-profiler can by an option"

// magic are the first bytes of binary formats.
var magic = []struct{ start, remedy string }{
	{"\x1f\x8b", "gzip within gzip: unpack it once, by gunzip"},
	{"PERFILE2", "the perf.data of Linux perf: convert it by perf_to_profile (github.com/google/perf_data_converter)"},
	{"FLR\x00", "a recording of Java Flight Recorder: convert it by async-profiler's jfrconv -o pprof"},
}

// formats are formats of text.
var formats = []format{
	{regexp.MustCompile(`^go 1\.\d+ trace\x00`), "an execution trace of Go: open it by spanprof trace or go tool trace"},
	{regexp.MustCompile(`^\s*\{(?s:.*)"(nodes|timeDeltas|callFrame)"\s*:`), "a .cpuprofile of V8 or Node.js: open it in Chrome's DevTools or speedscope, or record by the npm package @datadog/pprof"},
	{regexp.MustCompile(`^\s*[\[{]`), "JSON: " + pprofInstead},
	{regexp.MustCompile(`^(goroutine profile: total|threadcreate profile: total|--- (mutex|contention|threadcreate)|goroutine \d+ \[|heap profile:|\d+ @ 0x)`), "the text of net/http/pprof: fetch the profile without debug= in the address"},
	{regexp.MustCompile(`^<!doctype html>(?s:.*)<title>spanprof</title>`), "a page of spanprof: open it in a browser"},
	{regexp.MustCompile(`^[^\n;]+(;[^\n;]*)* \d+(\.\d+)?\r?\n`), "folded stacks, the input of flamegraph.pl: " + pprofInstead},
}

// foreign returns what data are if they are not a profile, and how to get one. It returns ""
// for an unknown format.
func foreign(data []byte) string {
	data = data[:min(len(data), 64<<10)]
	for _, m := range magic {
		if bytes.HasPrefix(data, []byte(m.start)) {
			return "it is " + m.remedy
		}
	}
	for _, f := range formats {
		if f.start.Match(data) {
			return "it is " + f.remedy
		}
	}
	if strings.HasPrefix(http.DetectContentType(data), "text/html") {
		return "it is an HTML page, of a login or an error perhaps: fetch it as the server's user, by curl for example"
	}
	return ""
}

// legacyHeap begins the text of heap profiles by Go with debug=1, gperftools and tcmalloc.
var legacyHeap = regexp.MustCompile(`^heap(_v2/\d| profile: )`)

// File decodes a profile as Profile does. Heap profiles as text and CPU profiles of gperftools
// are decoded as by go tool pprof.
// The error for another known format describes it.
func File(data []byte, maxBytes int64) (*profile.Profile, error) {
	p, err := Profile(data, maxBytes)
	if err == nil {
		return p, nil
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		var unpackErr error
		if data, unpackErr = wire.Inflate(data, maxBytes); unpackErr != nil {
			return nil, err
		}
	}
	if len(data) <= maxText && (legacyHeap.Match(data) || bytes.HasPrefix(data, make([]byte, 4))) { // CPU profiles of gperftools
		if p, legacyErr := legacy(data); legacyErr == nil {
			return p, nil
		}
	}
	if text := foreign(data); text != "" {
		return nil, errors.New(text)
	}
	return nil, err
}

func legacy(data []byte) (*profile.Profile, error) {
	decoding.Lock()
	defer decoding.Unlock()
	return decode(data, profile.ParseData)
}
