// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package marker

// Adding is the lock of new names.
var Adding = &adding
