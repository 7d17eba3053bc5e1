// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import "testing"

func stack(functions ...string) []Frame {
	list := make([]Frame, 0, len(functions))
	for _, f := range functions {
		list = append(list, Frame{Func: f})
	}
	return list
}

// These are cases that internal/integration/knownwaits lacks: C code, the runtime's own
// semaphores, and waits from before the trace.
func TestWaitState(t *testing.T) {
	for _, test := range []struct {
		reason string
		stack  []Frame
		want   State
	}{
		{"chan send", nil, Channel},
		{"forever", nil, Select},
		{"sync", stack("sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "sync.(*RWMutex).Lock", "main.f"), RWMutex},
		{"sync", stack("internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.f", "sync.(*RWMutex).Lock"), Mutex},
		{"sync", stack("sync.(*WaitGroup).Wait", "main.f"), WaitGroup},
		{"sync", stack("internal/poll.(*fdMutex).rwlock", "internal/poll.(*FD).Read", "main.f"), Semaphore},
		{"sync", stack("runtime.gcStart", "runtime.mallocgc", "main.f"), GC},
		{"sync", stack("runtime.gcStart", "runtime.mallocgc", "sync.(*Pool).Get", "sync.(*Mutex).Lock"), GC},
		{"sync", nil, Semaphore},
		{"network", stack("internal/poll.(*FD).Read", "net.(*conn).Read"), Network},
		{"network", stack("internal/poll.(*FD).Read", "os.(*File).read"), Syscall},
		{"preempted", nil, GC},
		{"a reason of the future", nil, Other},
		{"", stack("main.f"), Other}, // it began before the trace
	} {
		if got := waitState(test.reason, test.stack); got != test.want {
			t.Errorf("reason %q at %v: %v, want %v", test.reason, test.stack, got, test.want)
		}
	}
	if got := callState(stack("runtime.cgocall", "main._Cfunc_f", "main.f")); got != Cgo {
		t.Errorf("a call of C code: %v", got)
	}
	if got := callState(stack("syscall.Syscall", "main.f")); got != Syscall {
		t.Errorf("a call of the system: %v", got)
	}
}
