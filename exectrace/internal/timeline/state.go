// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import "strings"

// State is the state of a goroutine.
type State uint8

// The states. Mutex and later ones are waits.
const (
	Unknown   State = iota
	Running         // on a thread, with or without a CPU
	Assist          // running, and marking for the garbage collector
	Runnable        // ready, and not on a thread
	Stopped         // ready, while the runtime stops the world
	Mutex           // sync.Mutex, sync.Once and types made of them
	RWMutex         // sync.RWMutex
	Channel         // one channel
	Select          // several channels
	Cond            // sync.Cond
	WaitGroup       // sync.WaitGroup
	Semaphore       // of the runtime, elsewhere, such as two reads of one file
	Network         // a connection or a listener
	Syscall         // any other system call: a file, a pipe, another process
	Cgo             // in C code
	Sleep           // time.Sleep
	GC              // until work for the garbage collector is done
	Other           // waits of later versions of Go
)

// States is the number of states.
const States = int(Other) + 1

var stateNames = [States]string{
	"unknown", "running", "gc assist", "runnable", "stop-the-world", "mutex", "rwmutex", "channel", "select",
	"cond", "waitgroup", "semaphore", "network", "syscall", "cgo", "sleep", "gc wait", "other wait",
}

func (s State) String() string { return stateNames[s] }

// Waits reports whether s is a wait.
func (s State) Waits() bool { return s >= Mutex }

// endedByGoroutine reports whether another goroutine of the program ends a wait of state s.
// Timers, the network and the garbage collector end the other waits, on any goroutine.
func (s State) endedByGoroutine() bool { return s >= Mutex && s <= Network || s == Other }

// onThread reports whether a goroutine in state s runs Go code.
func (s State) onThread() bool { return s == Running || s == Assist }

// byReason has the states of the runtime's reasons for waits, in Go 1.22 to 1.27.
var byReason = map[string]State{
	"forever":                      Select, // select {}, or a nil channel
	"network":                      Network,
	"select":                       Select,
	"sync.(*Cond).Wait":            Cond,
	"chan send":                    Channel,
	"chan receive":                 Channel,
	"GC mark assist wait for work": GC,
	"GC background sweeper wait":   GC,
	"GC weak to strong wait":       GC,
	"wait until GC ends":           GC,
	"preempted":                    GC, // its stack is scanned
	"sleep":                        Sleep,
}

// waitState returns the state of a wait, by the runtime's reason and the stack, leaf first.
func waitState(reason string, frames []Frame) State {
	if state, ok := byReason[reason]; ok {
		if state == Network && ofFile(frames) {
			return Syscall
		}
		return state
	}
	if reason == "sync" {
		// Only waits for the runtime's own semaphores begin in the runtime: a goroutine needs
		// memory while a collection begins.
		if len(frames) > 0 && strings.HasPrefix(frames[0].Func, "runtime.") {
			return GC
		}
		return semaphoreState(frames)
	}
	return Other
}

// semaphoreState distinguishes the types of package sync. A writer of an RWMutex may wait for
// the Mutex inside: the function nearest to the root counts.
func semaphoreState(frames []Frame) State {
	state := Semaphore
	for _, f := range frames {
		switch {
		case strings.HasPrefix(f.Func, "sync.(*RWMutex)."), strings.HasPrefix(f.Func, "sync.(*rlocker)."):
			state = RWMutex
		case strings.HasPrefix(f.Func, "sync.(*Mutex)."), strings.HasPrefix(f.Func, "internal/sync.(*Mutex)."), strings.HasPrefix(f.Func, "sync.(*Once)."):
			state = Mutex
		case strings.HasPrefix(f.Func, "sync.(*WaitGroup)."):
			state = WaitGroup
		case strings.HasPrefix(f.Func, "sync."), strings.HasPrefix(f.Func, "internal/sync."), strings.HasPrefix(f.Func, "runtime."):
		default:
			return state
		}
	}
	return state
}

// ofFile reports whether a wait for the poller is for a pipe or file, and not for a connection.
func ofFile(frames []Frame) bool {
	for _, f := range frames {
		if strings.HasPrefix(f.Func, "os.(*File).") {
			return true
		}
	}
	return false
}

// callState distinguishes system calls from calls of C code.
func callState(frames []Frame) State {
	for _, f := range frames {
		if f.Func == "runtime.cgocall" {
			return Cgo
		}
	}
	return Syscall
}

// inSchedulersPlace reports whether an event with such a stack is the scheduler's. It runs on
// the thread of an unrelated goroutine.
func inSchedulersPlace(frames []Frame) bool {
	return len(frames) > 0 && frames[0].Func == "runtime.systemstack_switch"
}

// ofRuntime reports whether goroutines with this first function are the runtime's own.
func ofRuntime(function string) bool {
	return strings.HasPrefix(function, "runtime.") && function != "runtime.main"
}
