// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package seccomptest lets tests answer system calls in the kernel's place: to
// refuse what another machine would refuse, or to grant what this one does not.
// It is for Linux.
package seccomptest
