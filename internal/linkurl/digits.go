// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package linkurl

import (
	"encoding/binary"
	"strconv"
	"time"
)

// nanos are the digits of a time in nanoseconds since 1970.
type nanos struct {
	array [nanosLen]byte
	n     int
}

// usualLen is how many digits a time from 2001 to 2262 has.
const usualLen = 19

func (d *nanos) set(t time.Time) {
	n := t.UnixNano()
	if n < 1e18 {
		d.n = len(strconv.AppendInt(d.array[:0], n, 10))
		return
	}
	top, rest := uint64(n)/1e16, uint64(n)%1e16
	d.array[0] = byte('0' + top/100)
	d.array[1] = byte('0' + top/10%10)
	d.array[2] = byte('0' + top%10)
	binary.LittleEndian.PutUint64(d.array[3:], eightDigits(rest/1e8))
	binary.LittleEndian.PutUint64(d.array[11:], eightDigits(rest%1e8))
	d.n = usualLen
}

func (d *nanos) digits() []byte { return d.array[:d.n] }

// eightDigits returns the digits of x, below 1e8, the first in the lowest byte. It divides
// the parts of x side by side: by 100 as by 2^19/5243, and by 10 as by 2^10/103, which are
// exact for numbers of four and of two digits.
func eightDigits(x uint64) uint64 {
	four := x/10000 | x%10000<<32
	high := four * 5243 >> 19 & 0x0000007f_0000007f
	two := high | (four-high*100)<<16
	high = two * 103 >> 10 & 0x000f_000f_000f_000f
	return (high | (two-high*10)<<8) + 0x30303030_30303030
}

// put writes the digits to a place for usualLen of them, and reports whether both are so long.
func (d *nanos) put(place []byte) bool {
	if d.n != usualLen || len(place) != usualLen {
		return false
	}
	*(*[usualLen]byte)(place) = [usualLen]byte(d.array[:])
	return true
}
