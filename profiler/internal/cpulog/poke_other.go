// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cpulog

// canPoke says that poke makes a record.
const canPoke = false

func poke() bool { return false }

func (*Log) poke() bool { return poke() }

func (*Log) fill() bool { return true }

type handler struct{}

func sigprof() handler { return handler{} }

func deaf(handler) bool { return false }
