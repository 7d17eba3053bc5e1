// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package nettest has networks and faults of networks for tests.
package nettest
