// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package spanlog

// readsInPlace says whether fields of the SDK's spans are read in place.
const readsInPlace = true
