// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package nettest

import (
	"net"
	"time"
)

// Silent returns c with a fault from the given time on. It stays open, but writes are
// discarded and nothing arrives, as behind a proxy that has lost the connection.
func Silent(c net.Conn, from time.Time) net.Conn { return silent{c, from} }

type silent struct {
	net.Conn

	from time.Time
}

func (s silent) isSilent() bool { return !time.Now().Before(s.from) }

func (s silent) Read(b []byte) (int, error) {
	for {
		n, err := s.Conn.Read(b)
		if err != nil || !s.isSilent() {
			return n, err
		}
	}
}

func (s silent) Write(b []byte) (int, error) {
	if s.isSilent() {
		return len(b), nil
	}
	return s.Conn.Write(b)
}
