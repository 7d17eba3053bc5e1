// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package nettest

import (
	"bufio"
	"net"
)

// buffered reads whole writes from a net.Pipe: a write blocks until all of it is read.
// Otherwise a TLS peer that sends an alert during the other's flight would block forever.
// Sockets do not block there.
type buffered struct {
	net.Conn

	in *bufio.Reader
}

func newBuffered(c net.Conn) buffered { return buffered{c, bufio.NewReaderSize(c, 64<<10)} }

func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }
