// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package main

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"sync/atomic"
)

/*
static unsigned collatz(unsigned n) {
	unsigned steps = 0;
	for (unsigned long v = n; v != 1; steps++)
		v = v % 2 ? 3 * v + 1 : v / 2;
	return steps;
}

unsigned spanprof_work_in_c(unsigned n) {
	unsigned sum = 0;
	for (unsigned i = 1; i < n; i++)
		sum += collatz(i);
	return sum;
}

// A profile of it has to show the names of both.
*/
import "C"

// sink keeps results, so that no work is optimized away.
var sink atomic.Uint64

// loads are about a millisecond of work each.
var loads = map[string]func(){
	"tight":  calculate,
	"json":   encode,
	"cgo":    func() { sink.Add(uint64(C.spanprof_work_in_c(4000))) },
	"kernel": readZeros,
}

//go:noinline
func calculate() {
	x := sink.Load()
	for i := range uint64(1_000_000) {
		x = x*6364136223846793005 + i
	}
	sink.Store(x)
}

type order struct {
	ID    int               `json:"id"`
	Items []string          `json:"items"`
	Notes map[string]string `json:"notes"`
}

func encode() {
	o := order{ID: 1, Items: []string{"apple", "pear", "plum"}, Notes: map[string]string{"a": "b", "c": "d"}}
	for range 100 {
		b, err := json.Marshal(o)
		if err == nil {
			err = json.Unmarshal(b, &o)
		}
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(b)
		sink.Add(uint64(sum[0]))
	}
}

// readZeros is work of the kernel, which fills the memory.
func readZeros() {
	f, err := os.Open("/dev/zero")
	if err != nil {
		panic(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := io.ReadFull(f, zeros); err != nil {
		panic(err)
	}
}

var zeros = make([]byte, 1<<20)
