// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package goruntime is the one place where spanprof uses what the Go runtime does
// not document: goroutine labels, the log of CPU samples, functions of addresses
// and the list of goroutines. Nothing else links to the runtime's functions by name.
//
// Two things guard it. Functions that the runtime promises to keep are linked on every Go:
// see https://go.dev/issue/67401. Goroutines needs a function without that promise: it is
// linked on the Go versions it was tested with. And [Unknown] verifies at run time what no
// signature shows. While it returns an error, only the types, clear.go and Nanotime may be used.
//
// The build tag spanprof_public leaves all of it out, and so do processors without assembly for
// Goroutine.
package goruntime

// For developers: hooks.go and goroutines_linked.go have all that is linked, verify.go is what
// Unknown verifies. public.go and goroutines_public.go stand in for them. symbols.go finds the
// functions of stacks; clear.go is about execution traces.

import (
	"errors"
	"sync"
)

// ErrPublic is returned by Unknown with the build tag spanprof_public, and on processors other
// than 386, amd64 and arm64.
var ErrPublic = errors.New("built with the tag spanprof_public")

// Unknown returns nil if the runtime is as this package expects, whatever its version.
// Otherwise its error describes the difference.
var Unknown = sync.OnceValue(verify)
