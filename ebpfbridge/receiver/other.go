// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package receiver

import (
	"errors"
	"net"
)

var errLinux = errors.New("Listen needs Linux, which reports the user of a connection")

func checkDirectory(string, uint32) error { return errLinux }
func peerUser(net.Conn) (uint32, error)   { return 0, errLinux }
