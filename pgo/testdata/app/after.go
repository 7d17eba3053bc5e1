//go:build after

package main

import "example.com/app/internal/hash"

func version(seed uint64) uint64 {
	xs := []float64{float64(seed), 1, 2, 3}
	return uint64(sum(xs)) + closures(seed) + hash.New().Sum(seed)
}

//go:noinline
func closures(x uint64) uint64 {
	return x * 3
}
