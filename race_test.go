// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package spanprof_test

const raceEnabled = true
