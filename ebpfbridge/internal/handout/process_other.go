// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package handout

import (
	"errors"
	"net"
)

var errLinux = errors.New("the sockets of agents and programs need Linux, which reports the process of a connection")

// process is one process for as long as it lives, not the next one with its id.
type process struct {
	pid   int64
	group string
}

func peerOf(net.Conn) (*process, error) { return nil, errLinux }

func (*process) check() error { return errLinux }

func (*process) close() {}

func (*process) thread(int64) int64 { return 0 }

func (*process) started() (uint64, error) { return 0, errLinux }

// CheckNamespace returns an error without Linux.
func CheckNamespace() error { return errLinux }

// CheckDirectory returns an error without Linux.
func CheckDirectory(string, uint32) error { return errLinux }

// PeerUser returns an error without Linux.
func PeerUser(net.Conn) (uint32, error) { return 0, errLinux }
