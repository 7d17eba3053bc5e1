// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !spanprof_public

#include "textflag.h"

// func goroutine() uintptr
TEXT ·goroutine(SB), NOSPLIT, $0-4
	MOVL TLS, CX
	MOVL 0(CX)(TLS*1), AX
	MOVL AX, ret+0(FP)
	RET
