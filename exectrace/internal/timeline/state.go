// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import "strings"

// State is what a goroutine does.
type State uint8

// The states. Those from Mutex on are waits.
const (
	Unknown   State = iota // the trace does not tell
	Running                // on a thread; the operating system may have taken the CPU away
	Assist                 // running, and marking for the garbage collector
	Sweep                  // running, and sweeping for the garbage collector
	Runnable               // ready, and not on a thread
	Stopped                // ready, while the world is stopped
	Mutex                  // sync.Mutex, sync.Once and what is made of them
	RWMutex                // sync.RWMutex
	Channel                // sends to one channel or receives from one
	Select                 // of several
	Cond                   // sync.Cond
	WaitGroup              // sync.WaitGroup
	Semaphore              // of the runtime, in other places, such as two reads of one file
	Network                // a connection or a listener
	Syscall                // a file, a pipe, another process: any other call of the system
	Cgo                    // in C code
	Sleep                  // time.Sleep
	GC                     // the garbage collector wants work done first
	Other                  // what later versions of Go wait for
)

// States is the number of states.
const States = int(Other) + 1

var stateNames = [States]string{
	"unknown", "running", "gc assist", "gc sweep", "runnable", "gc stop", "mutex", "rwmutex", "channel", "select",
	"cond", "waitgroup", "semaphore", "network", "syscall", "cgo", "sleep", "gc wait", "other wait",
}

func (s State) String() string { return stateNames[s] }

// Waits reports whether s is a wait.
func (s State) Waits() bool { return s >= Mutex }

// EndedByGoroutine reports whether a wait of state s is for another goroutine of the program.
// Timers, the network and the garbage collector end the others, in whichever goroutine's
// place the scheduler happens to run.
func (s State) EndedByGoroutine() bool { return s >= Mutex && s <= Network || s == Other }

// onThread reports whether a goroutine in state s uses a thread.
func (s State) onThread() bool { return s == Running || s == Assist || s == Sweep }

// OnThread reports whether a goroutine in state s runs Go code.
func (s State) OnThread() bool { return s.onThread() }

// byReason has what the runtime gives as the reason for a wait, in Go 1.22 to 1.27.
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
	"preempted":                    GC, // its stack is looked through
	"sleep":                        Sleep,
}

// waitState returns what a goroutine waits for, by the runtime's reason and the functions
// of its stack, leaf first.
func waitState(reason string, frames []Frame) State {
	if state, ok := byReason[reason]; ok {
		if state == Network && ofFile(frames) {
			return Syscall
		}
		return state
	}
	if reason == "sync" {
		if ofRuntimesOwn(frames) {
			return GC
		}
		return semaphoreState(frames)
	}
	if reason == "" { // it waited before the trace began
		for _, f := range frames {
			switch f.Func {
			case "runtime.chanrecv", "runtime.chanrecv1", "runtime.chanrecv2", "runtime.chansend", "runtime.chansend1":
				return Channel
			case "runtime.selectgo", "runtime.block":
				return Select
			case "sync.(*Cond).Wait":
				return Cond
			case "internal/poll.runtime_pollWait":
				return Network
			case "time.Sleep":
				return Sleep
			}
		}
		if state := semaphoreState(frames); state != Semaphore {
			return state
		}
	}
	return Other
}

// semaphoreState tells the types of package sync apart. A writer of an RWMutex may wait
// for the Mutex inside it: the function nearest to the root counts.
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

// ofRuntimesOwn reports whether a wait for a semaphore is for one of the runtime's own,
// such as that of a goroutine that needs memory while a collection begins. Those that it
// waits for have nothing to do with it. The stacks of other waits for semaphores begin
// outside of the runtime.
func ofRuntimesOwn(frames []Frame) bool {
	return len(frames) > 0 && strings.HasPrefix(frames[0].Func, "runtime.")
}

// ofFile reports whether what waits for the poller is a pipe or another file, and no
// connection.
func ofFile(frames []Frame) bool {
	for _, f := range frames {
		if strings.HasPrefix(f.Func, "os.(*File).") {
			return true
		}
	}
	return false
}

// callState tells a call of the system from one of C code.
func callState(frames []Frame) State {
	for _, f := range frames {
		if f.Func == "runtime.cgocall" {
			return Cgo
		}
	}
	return Syscall
}

// inSchedulersPlace reports whether an event with such a stack is the scheduler's, which
// runs on the thread of a goroutine that has nothing to do with it.
func inSchedulersPlace(frames []Frame) bool {
	return len(frames) > 0 && frames[0].Func == "runtime.systemstack_switch"
}

// ofRuntime reports whether goroutines that start at function are the runtime's own.
func ofRuntime(function string) bool {
	return strings.HasPrefix(function, "runtime.") && function != "runtime.main"
}
