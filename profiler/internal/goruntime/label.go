// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

// Label is a goroutine label. It has the layout of runtime/pprof's.
type Label struct{ Key, Value string }
