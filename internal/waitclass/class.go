// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package waitclass classifies from a goroutine's stack what it waits for.
//
// It uses the names of leaf functions of the runtime and the standard library in Go 1.26
// and 1.27. With an unknown name, the goroutine is Running. It is Unknown if the stack
// shows that it is parked or waits for a semaphore.
package waitclass

import (
	"iter"
	"strings"
)

// Class is what a goroutine waits for.
type Class int

// The classes, in their display order for equal sums.
const (
	Running       Class = iota // or ready to run
	Mutex                      // sync.Mutex, sync.RWMutex, sync.Once and types built on them
	Channel                    // a receive from or a send to one channel
	Select                     // on several channels
	CondWaitGroup              // sync.Cond, sync.WaitGroup
	Network                    // a connection or a listener
	Syscall                    // a file, a pipe, another process: any other system call
	Sleep                      // time.Sleep
	GC                         // assists the garbage collector, or is stopped by it
	Cgo                        // in C code
	Unknown
)

// Count is the number of classes.
const Count = int(Unknown) + 1

var names = [Count]string{"running", "mutex", "channel", "select", "cond or waitgroup", "network", "file or syscall", "sleep", "GC", "cgo", "unknown"}

func (c Class) String() string { return names[c] }

// byFunction maps a function to what its goroutine waits for. The function nearest the
// leaf counts.
var byFunction = map[string]Class{
	"sync.runtime_SemacquireMutex":          Mutex,
	"sync.runtime_SemacquireRWMutex":        Mutex,
	"sync.runtime_SemacquireRWMutexR":       Mutex,
	"internal/sync.runtime_SemacquireMutex": Mutex,
	// Of two reads of one file or connection, the second waits for the first.
	"internal/poll.runtime_Semacquire": Mutex,

	"runtime.chanrecv":  Channel,
	"runtime.chanrecv1": Channel,
	"runtime.chanrecv2": Channel,
	"runtime.chansend":  Channel,
	"runtime.chansend1": Channel,

	"runtime.selectgo": Select,
	"runtime.block":    Select, // without a channel

	"sync.runtime_notifyListWait":      CondWaitGroup,
	"sync.runtime_SemacquireWaitGroup": CondWaitGroup,
	"sync.runtime_Semacquire":          CondWaitGroup,

	"time.Sleep": Sleep,

	"runtime.gcAssistAlloc":          GC,
	"runtime.gcParkAssist":           GC,
	"runtime.gcStart":                GC,
	"runtime.GC":                     GC,
	"runtime.stopTheWorldGC":         GC,
	"runtime.gcBgMarkWorker":         GC,
	"runtime.bgsweep":                GC,
	"runtime.bgscavenge":             GC,
	"runtime/debug.freeOSMemory":     GC,
	"runtime.gcControllerCommit":     GC,
	"runtime.deductSweepCredit":      GC,
	"runtime.gcParkStrongFromWeak":   GC,
	"runtime.(*gcWork).balance":      GC,
	"runtime.gcMarkDone":             GC,
	"runtime.gcMarkTermination":      GC,
	"runtime.coroswitch":             Unknown, // iter.Pull: depends on the other side
	"runtime.notetsleepg":            Unknown,
	"runtime.ReadTrace":              Unknown,
	"os/signal.signal_recv":          Unknown,
	"runtime.runFinalizers":          Unknown,
	"runtime.runCleanups":            Unknown,
	"runtime.netpollblock":           Network,
	"internal/poll.runtime_pollWait": Network,
}

// Of returns the class of a stack. functions are its functions, leaf first.
func Of(functions iter.Seq[string]) Class {
	class, found, parked := Running, false, false
	for name := range functions {
		switch {
		case found:
			// A wait for input or output: its callers decide the class.
			switch {
			case class == Cgo && isSystem(name):
				class = Syscall
				continue
			case strings.HasPrefix(name, "net."):
				return Network
			case strings.HasPrefix(name, "os."):
				return Syscall
			case strings.HasPrefix(name, "internal/poll."), isSystem(name), strings.HasPrefix(name, "runtime."):
				continue
			}
			return class
		case name == "runtime.gopark", name == "runtime.goparkunlock", name == "runtime.semacquire1":
			parked = true // a caller may give the reason
		case name == "runtime.cgocall":
			class, found = Cgo, true // Windows system calls use it, too
		case isCall(name):
			class, found = Syscall, true
		default:
			c, ok := byFunction[name]
			if ok && c != Network {
				return c
			}
			if ok {
				class, found = c, true
			} else if !strings.HasPrefix(name, "runtime.") {
				if parked {
					return Unknown
				}
				return Running
			}
		}
	}
	if parked && !found {
		return Unknown
	}
	return class
}

// isSystem reports whether a function's package makes system calls.
func isSystem(function string) bool {
	for _, p := range [...]string{"syscall.", "internal/runtime/syscall", "internal/syscall/", "golang.org/x/sys/"} {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	return false
}

// isCall reports whether a function is a system call.
func isCall(function string) bool {
	if !isSystem(function) {
		return false
	}
	name := function[strings.LastIndexByte(function, '.')+1:]
	return strings.Contains(name, "yscall") // syscall.Syscall6, syscall.rawSyscallNoError and others
}
