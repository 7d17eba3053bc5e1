// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import "reflect"

// funcPC returns where a function begins.
func funcPC(f any) uintptr { return reflect.ValueOf(f).Pointer() }
