// Package mix imports nothing, so that it is compiled fast with another profile.
package mix

// Work calls a large function.
func Work(seed uint64) uint64 {
	sum := seed
	for range 2000 {
		sum += mix(sum) // the profile of the test has this line
	}
	return sum
}

// mix is too large to be inlined without a profile.
func mix(x uint64) uint64 {
	for i := range uint64(4) {
		x ^= x >> 33
		x *= 0xff51afd7ed558ccd
		x ^= x >> 33
		x *= 0xc4ceb9fe1a85ec53
		x ^= x >> 33
		x += i
		if x&1 == 0 {
			x = x>>7 | x<<57
		} else {
			x = x>>9 | x<<55
		}
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		x *= 0x9e3779b97f4a7c15
		x ^= x << 5
		x ^= x >> 11
		x *= 0xd6e8feb86659fd93
	}
	return x
}
