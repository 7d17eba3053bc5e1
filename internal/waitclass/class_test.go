// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package waitclass_test

import (
	"slices"
	"testing"

	"github.com/spanprof/spanprof/internal/waitclass"
)

func TestStacks(t *testing.T) {
	for name, test := range map[string]struct {
		stack []string
		want  waitclass.Class
	}{
		"nothing":           {nil, waitclass.Running},
		"Go code":           {[]string{"main.f", "sync.(*Mutex).Lock"}, waitclass.Running},
		"allocation":        {[]string{"runtime.memclrNoHeapPointers", "runtime.mallocgc", "main.f"}, waitclass.Running},
		"GC assist":         {[]string{"runtime.gopark", "runtime.goparkunlock", "runtime.gcParkAssist", "runtime.gcAssistAlloc", "runtime.deductAssistCredit", "runtime.mallocgc", "main.f"}, waitclass.GC},
		"runtime.GC":        {[]string{"runtime.semacquire1", "runtime.semacquire", "runtime.GC", "main.f"}, waitclass.GC},
		"cgo":               {[]string{"runtime.cgocall", "main._Cfunc_pausing", "main.f"}, waitclass.Cgo},
		"Windows":           {[]string{"runtime.cgocall", "syscall.SyscallN", "syscall.ReadFile", "os.(*File).Read"}, waitclass.Syscall},
		"write to a socket": {[]string{"internal/runtime/syscall.Syscall6", "syscall.RawSyscall6", "syscall.Syscall", "syscall.write", "internal/poll.(*FD).Write", "net.(*netFD).Write"}, waitclass.Network},
		"write to a file":   {[]string{"syscall.Syscall", "syscall.write", "internal/poll.ignoringEINTRIO", "internal/poll.(*FD).Write", "os.(*File).write"}, waitclass.Syscall},
		"epoll of others":   {[]string{"runtime.gopark", "runtime.netpollblock", "internal/poll.runtime_pollWait", "internal/poll.(*FD).RawRead", "main.f"}, waitclass.Network},
		"parked somewhere":  {[]string{"runtime.gopark", "runtime.somethingNew", "main.f"}, waitclass.Unknown},
		"parked alone":      {[]string{"runtime.gopark"}, waitclass.Unknown},
		"stopping all":      {[]string{"runtime.semacquire1", "runtime.semacquire", "runtime.stopTheWorld", "runtime.ReadMemStats", "main.f"}, waitclass.Unknown},
		"reading a trace":   {[]string{"runtime.ReadTrace", "runtime/trace.(*traceMultiplexer).startLocked.func1"}, waitclass.Unknown},
		"lock":              {[]string{"runtime.semacquire1", "internal/sync.runtime_SemacquireMutex", "internal/sync.(*Mutex).lockSlow", "main.f"}, waitclass.Mutex},
		"signals":           {[]string{"os/signal.signal_recv", "os/signal.loop"}, waitclass.Unknown},
	} {
		if got := waitclass.Of(slices.Values(test.stack)); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if int(waitclass.Unknown) != waitclass.Count-1 {
		t.Errorf("there are not %d classes", waitclass.Count)
	}
}
