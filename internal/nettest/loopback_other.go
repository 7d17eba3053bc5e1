// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package nettest

// loopback returns an address to listen on. There is one alone here: while the Proxy
// refuses connections, another socket may get its port, if rarely.
func loopback() string { return "127.0.0.1:0" }
