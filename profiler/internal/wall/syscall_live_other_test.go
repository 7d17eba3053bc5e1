// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && !unix

package wall

var systemCalls map[string]wait
