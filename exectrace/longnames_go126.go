// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !go1.27

package exectrace

// longTaskNamesCrash says that the runtime dies of the long name of a task.
const longTaskNamesCrash = true
