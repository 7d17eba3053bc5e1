// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package goruntime reads what the Go runtime keeps to itself and profiles are
// made of: label sets, functions of addresses, goroutines and the log of CPU
// samples. It does so for the Go versions whose internals are known. On others,
// and where what it relies on has changed, [Known] is false and nothing else of
// the package may be used but the types and [NewStacks].
package goruntime
