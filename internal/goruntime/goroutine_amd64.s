// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !spanprof_public

#include "textflag.h"

// func goroutine() uintptr
TEXT ·goroutine(SB), NOSPLIT, $0-8
	MOVQ TLS, CX
	MOVQ 0(CX)(TLS*1), AX
	MOVQ AX, ret+0(FP)
	RET
