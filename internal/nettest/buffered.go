// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package nettest

import (
	"bufio"
	"net"
)

// buffered takes whole writes from a net.Pipe, which lasts until they are read.
// An end of TLS that sends an alert in the middle of the other one's flight would
// wait for ever, as no socket has it do.
type buffered struct {
	net.Conn

	in *bufio.Reader
}

func newBuffered(c net.Conn) buffered { return buffered{c, bufio.NewReaderSize(c, 64<<10)} }

func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }
