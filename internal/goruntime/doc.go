// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package goruntime is the one place where spanprof uses what the Go runtime does
// not document: goroutine labels, the log of CPU samples, functions of addresses
// and the list of goroutines. Nothing else links to the runtime's functions by name.
//
// Two things guard it. Functions that the runtime promises to keep are linked on every Go:
// see https://go.dev/issue/67401. [Goroutines] needs a function without that promise: it is
// linked on the Go versions it was tested with. And [Unknown] verifies at run time what no
// signature shows. While it returns an error, only the types and clear.go may be used.
//
// [Goroutine] distinguishes goroutines by assembly, or without it by stack traces.
//
// The build tag spanprof_public leaves all of it out.
package goruntime

// For developers: hooks.go has the functions with a promise and is, with
// goroutines_linked.go, all that is linked; verify.go is what Unknown verifies;
// public.go and goroutines_public.go stand in for them. symbols.go finds the functions
// of stacks; clear.go is about execution traces.

import (
	"errors"
	"sync"
)

// ErrPublic is returned by Unknown if the program selects the public API by the build tag
// spanprof_public.
var ErrPublic = errors.New("built with the tag spanprof_public")

// Unknown returns nil if the runtime is as this package expects, whatever its version.
// Otherwise its error describes the difference.
var Unknown = sync.OnceValue(verify)
