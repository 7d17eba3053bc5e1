// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package marker

import "context"

// Each function is a digit of a name's number. The calls are static, so that f does not escape
// to the heap. noinline keeps each function a frame of its own.

func high(ctx context.Context, n uint8, f func(context.Context)) {
	switch n / base {
	case 0:
		h0(ctx, n%base, f)
	case 1:
		h1(ctx, n%base, f)
	case 2:
		h2(ctx, n%base, f)
	case 3:
		h3(ctx, n%base, f)
	case 4:
		h4(ctx, n%base, f)
	case 5:
		h5(ctx, n%base, f)
	case 6:
		h6(ctx, n%base, f)
	case 7:
		h7(ctx, n%base, f)
	case 8:
		h8(ctx, n%base, f)
	case 9:
		h9(ctx, n%base, f)
	case 10:
		h10(ctx, n%base, f)
	case 11:
		h11(ctx, n%base, f)
	case 12:
		h12(ctx, n%base, f)
	case 13:
		h13(ctx, n%base, f)
	case 14:
		h14(ctx, n%base, f)
	case 15:
		h15(ctx, n%base, f)
	}
}

func low(ctx context.Context, n uint8, f func(context.Context)) {
	switch n {
	case 0:
		l0(ctx, f)
	case 1:
		l1(ctx, f)
	case 2:
		l2(ctx, f)
	case 3:
		l3(ctx, f)
	case 4:
		l4(ctx, f)
	case 5:
		l5(ctx, f)
	case 6:
		l6(ctx, f)
	case 7:
		l7(ctx, f)
	case 8:
		l8(ctx, f)
	case 9:
		l9(ctx, f)
	case 10:
		l10(ctx, f)
	case 11:
		l11(ctx, f)
	case 12:
		l12(ctx, f)
	case 13:
		l13(ctx, f)
	case 14:
		l14(ctx, f)
	case 15:
		l15(ctx, f)
	}
}

//go:noinline
func h0(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h1(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h2(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h3(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h4(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h5(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h6(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h7(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h8(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h9(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h10(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h11(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h12(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h13(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h14(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func h15(ctx context.Context, n uint8, f func(context.Context)) { low(ctx, n, f) }

//go:noinline
func l0(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l1(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l2(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l3(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l4(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l5(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l6(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l7(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l8(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l9(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l10(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l11(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l12(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l13(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l14(ctx context.Context, f func(context.Context)) { f(ctx) }

//go:noinline
func l15(ctx context.Context, f func(context.Context)) { f(ctx) }
