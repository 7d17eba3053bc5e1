// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package marker

import "context"

// Each function is a digit of a name's number. The calls are static, so that f does not escape
// to the heap. noinline keeps each function a frame of its own.

// none is no digit.
const none = base

// under calls f under two digits, the low one nearer to f.
func under(ctx context.Context, number uint8, f func(context.Context)) {
	digit(ctx, number/base, number%base, f)
}

// digit calls f under the digit n and then under next, if they are digits.
func digit(ctx context.Context, n, next uint8, f func(context.Context)) {
	switch n {
	case 0:
		d0(ctx, next, f)
	case 1:
		d1(ctx, next, f)
	case 2:
		d2(ctx, next, f)
	case 3:
		d3(ctx, next, f)
	case 4:
		d4(ctx, next, f)
	case 5:
		d5(ctx, next, f)
	case 6:
		d6(ctx, next, f)
	case 7:
		d7(ctx, next, f)
	case 8:
		d8(ctx, next, f)
	case 9:
		d9(ctx, next, f)
	case 10:
		d10(ctx, next, f)
	case 11:
		d11(ctx, next, f)
	case 12:
		d12(ctx, next, f)
	case 13:
		d13(ctx, next, f)
	case 14:
		d14(ctx, next, f)
	case 15:
		d15(ctx, next, f)
	case none:
		f(ctx)
	}
}

//go:noinline
func d0(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d1(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d2(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d3(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d4(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d5(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d6(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d7(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d8(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d9(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d10(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d11(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d12(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d13(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d14(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }

//go:noinline
func d15(ctx context.Context, n uint8, f func(context.Context)) { digit(ctx, n, none, f) }
