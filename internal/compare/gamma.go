// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import "math"

// digamma is the derivative of the logarithm of the gamma function, for x above 0.
func digamma(x float64) float64 {
	sum := 0.0
	for ; x < 10; x++ {
		sum -= 1 / x
	}
	f := 1 / (x * x)
	return sum + math.Log(x) - 0.5/x - f*(1.0/12-f*(1.0/120-f*(1.0/252-f/240)))
}

// trigamma is the derivative of digamma.
func trigamma(x float64) float64 {
	sum := 0.0
	for ; x < 10; x++ {
		sum += 1 / (x * x)
	}
	f := 1 / (x * x)
	return sum + 1/x + f/2 + f/x*(1.0/6-f*(1.0/30-f*(1.0/42-f/30)))
}

// inverseTrigamma returns the x at which trigamma is y, for y above 0.
func inverseTrigamma(y float64) float64 {
	low, high := 1e-9, 1e9 // trigamma falls
	for range 200 {
		mid := math.Sqrt(low * high)
		if trigamma(mid) > y {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
