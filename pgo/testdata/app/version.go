package main

func version(seed uint64) uint64 {
	xs := []uint64{seed, 1, 2, 3, 4, 5, 6, 7, 8}
	return gone(seed) + sum(xs) + closures(seed)
}

//go:noinline
func gone(x uint64) uint64 {
	for range 40000 {
		x = x*x + 1
		x ^= x >> 3
	}
	return x
}

//go:noinline
func closures(x uint64) uint64 {
	each(40000, func(i int) {
		x = x*uint64(i) + 1
		x ^= x / 3
	})
	return x
}
