// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.27

package goruntime

// LongTaskNamesCrash says that the runtime dies of a task with a long name, if an execution trace is on.
const LongTaskNamesCrash = false
