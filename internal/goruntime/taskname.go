// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

import "strings"

// MaxTaskName is how long the name of a task of package runtime/trace may be, where
// LongTaskNamesCrash. The runtime dies of a bit more than 65,000 bytes.
const MaxTaskName = 60_000

// CutTaskName returns the beginning of a name that is longer than MaxTaskName.
func CutTaskName(name string) string { return strings.ToValidUTF8(name[:MaxTaskName], "") }
