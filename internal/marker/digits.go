// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package marker

// Each function is a digit of a name's number. The calls are static, so that a call does not
// escape to the heap. noinline keeps each function a frame of its own.

func high(n uint8, c *call) {
	switch n / base {
	case 0:
		h0(n%base, c)
	case 1:
		h1(n%base, c)
	case 2:
		h2(n%base, c)
	case 3:
		h3(n%base, c)
	case 4:
		h4(n%base, c)
	case 5:
		h5(n%base, c)
	case 6:
		h6(n%base, c)
	case 7:
		h7(n%base, c)
	case 8:
		h8(n%base, c)
	case 9:
		h9(n%base, c)
	case 10:
		h10(n%base, c)
	case 11:
		h11(n%base, c)
	case 12:
		h12(n%base, c)
	case 13:
		h13(n%base, c)
	case 14:
		h14(n%base, c)
	case 15:
		h15(n%base, c)
	}
}

func low(n uint8, c *call) {
	switch n {
	case 0:
		l0(c)
	case 1:
		l1(c)
	case 2:
		l2(c)
	case 3:
		l3(c)
	case 4:
		l4(c)
	case 5:
		l5(c)
	case 6:
		l6(c)
	case 7:
		l7(c)
	case 8:
		l8(c)
	case 9:
		l9(c)
	case 10:
		l10(c)
	case 11:
		l11(c)
	case 12:
		l12(c)
	case 13:
		l13(c)
	case 14:
		l14(c)
	case 15:
		l15(c)
	}
}

//go:noinline
func h0(n uint8, c *call) { low(n, c) }

//go:noinline
func h1(n uint8, c *call) { low(n, c) }

//go:noinline
func h2(n uint8, c *call) { low(n, c) }

//go:noinline
func h3(n uint8, c *call) { low(n, c) }

//go:noinline
func h4(n uint8, c *call) { low(n, c) }

//go:noinline
func h5(n uint8, c *call) { low(n, c) }

//go:noinline
func h6(n uint8, c *call) { low(n, c) }

//go:noinline
func h7(n uint8, c *call) { low(n, c) }

//go:noinline
func h8(n uint8, c *call) { low(n, c) }

//go:noinline
func h9(n uint8, c *call) { low(n, c) }

//go:noinline
func h10(n uint8, c *call) { low(n, c) }

//go:noinline
func h11(n uint8, c *call) { low(n, c) }

//go:noinline
func h12(n uint8, c *call) { low(n, c) }

//go:noinline
func h13(n uint8, c *call) { low(n, c) }

//go:noinline
func h14(n uint8, c *call) { low(n, c) }

//go:noinline
func h15(n uint8, c *call) { low(n, c) }

//go:noinline
func l0(c *call) { c.run() }

//go:noinline
func l1(c *call) { c.run() }

//go:noinline
func l2(c *call) { c.run() }

//go:noinline
func l3(c *call) { c.run() }

//go:noinline
func l4(c *call) { c.run() }

//go:noinline
func l5(c *call) { c.run() }

//go:noinline
func l6(c *call) { c.run() }

//go:noinline
func l7(c *call) { c.run() }

//go:noinline
func l8(c *call) { c.run() }

//go:noinline
func l9(c *call) { c.run() }

//go:noinline
func l10(c *call) { c.run() }

//go:noinline
func l11(c *call) { c.run() }

//go:noinline
func l12(c *call) { c.run() }

//go:noinline
func l13(c *call) { c.run() }

//go:noinline
func l14(c *call) { c.run() }

//go:noinline
func l15(c *call) { c.run() }
