// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"hash/fnv"
	"strconv"
)

// work is CPU and allocations as a service has them.
func work(n int) {
	for i := range n {
		order := map[string]any{"id": i, "name": "order " + strconv.Itoa(i), "lines": []int{i, i + 1, i + 2}}
		b, err := json.Marshal(order)
		if err != nil {
			panic(err) // nothing in it can fail
		}
		var back map[string]any
		if err := json.Unmarshal(b, &back); err != nil {
			panic(err)
		}
		h := fnv.New64a()
		_, _ = h.Write(b)
		_ = h.Sum64()
	}
}
