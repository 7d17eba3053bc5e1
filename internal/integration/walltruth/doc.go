// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package walltruth has a test alone: a program times its own spans while something is
// done to it, and their wall profiles must agree within the error that they state.
package walltruth
