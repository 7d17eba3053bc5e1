// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

/*
static unsigned int collatz(unsigned int n) {
	unsigned int steps = 0;
	for (; n > 1; steps++) n = n % 2 ? 3 * n + 1 : n / 2;
	return steps;
}

unsigned int shop_work_in_c(unsigned int n) {
	unsigned int sum = 0;
	for (; n > 0; n--) sum += collatz(n);
	return sum;
}

// The frames of a span have this name.
*/
import "C"

func init() {
	jobs = append(jobs, job{"compute in C", func() { C.shop_work_in_c(300_000) }})
}
