// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package untrusted decodes profiles from outside: of files, servers and other processes.
package untrusted

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/internal/wire"
)

var decoding sync.Mutex // one profile at a time

// Profile decodes a valid profile in pprof's format, gzipped or not. More than maxBytes
// unpacked is an error with the cause wire.ErrTooLarge. So are more decoded bytes than
// wire.MaxProfile, or than the heap leaves of the process's memory limit.
func Profile(data []byte, maxBytes int64) (p *profile.Profile, err error) {
	decoding.Lock()
	defer decoding.Unlock()
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if data, err = wire.Inflate(data, maxBytes); err != nil {
			return nil, err
		}
	}
	if err = check(data); errors.Is(err, wire.ErrTooLarge) {
		runtime.GC() // the heap includes garbage
		err = check(data)
	}
	if err != nil {
		return nil, err
	}
	err = report.Contain(func() (err error) { // the decoder is not ours
		if p, err = profile.ParseUncompressed(data); err == nil {
			err = p.CheckValid()
		}
		return err
	})
	return p, err
}

func check(data []byte) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	left := debug.SetMemoryLimit(-1) - int64(m.HeapAlloc)
	err := wire.Pprof.Check(data, min(wire.MaxProfile, max(0, left)))
	if errors.Is(err, wire.ErrTooLarge) && left < wire.MaxProfile {
		err = fmt.Errorf("%w; GOMEMLIMIT raises this bound", err)
	}
	return err
}
