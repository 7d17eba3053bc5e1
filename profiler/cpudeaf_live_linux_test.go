// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/profiler"
)

// If something else handles SIGPROF, a C library for example, there are no samples. Windows
// still end, Status has the reason, and it is reported once.
func TestCPUWithoutSignals(t *testing.T) {
	knownRuntime(t)
	reported.take("")
	p, _ := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
	var before [16]uintptr // more than the system writes
	ignored := [16]uintptr{1}
	action := func(set, get *[16]uintptr) {
		if _, _, err := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGPROF), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 8, 0, 0); err != 0 {
			t.Fatal(err)
		}
	}
	action(&ignored, &before)
	defer action(&before, nil)
	for range 3 {
		livetest.Until(t, func() bool {
			burning(time.Second) // takes a part of it in CPU time
			flush(t, p)
			return strings.Contains(p.Status().CPU, "handles SIGPROF")
		})
	}
	action(&before, nil)
	livetest.Until(t, func() bool {
		burning(100 * time.Millisecond)
		flush(t, p)
		return p.Status().CPU == "profiling"
	})
	shutdown(t, p)
	reported.wait(t, "handles SIGPROF")
	if errs := reported.take("handles SIGPROF"); len(errs) != 1 {
		t.Errorf("reported: %q, want one error", errs)
	}
}
