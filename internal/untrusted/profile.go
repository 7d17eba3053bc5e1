// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package untrusted decodes profiles from files, servers and other processes.
package untrusted

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
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
