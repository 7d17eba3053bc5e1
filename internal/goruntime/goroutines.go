// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

// StackRecord is the runtime's internal/profilerecord.StackRecord.
type StackRecord struct{ Stack []uintptr }
