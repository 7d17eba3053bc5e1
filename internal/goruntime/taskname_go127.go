// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.27

package goruntime

// LongTaskNamesCrash reports whether a task with a long name crashes the runtime while an
// execution trace is on.
const LongTaskNamesCrash = false
