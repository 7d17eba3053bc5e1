// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
)

//go:noinline
func encodeImage(s *shop, n int) { s.deflate(n) }

//go:noinline
func hashImage(s *shop, n int) { s.digest(n) }

//go:noinline
func tileImage(s *shop, n int) {
	for i := range n {
		s.sink += uint64(s.bytes[(i*257)&0xffff])
	}
}

//go:noinline
func walkTreeFrom(s *shop, n int) {
	for range n {
		s.sink += walkTree(uint64(n), 7)
	}
}

// walkTree is on a stack as often as the tree is deep.
//
//go:noinline
func walkTree(x uint64, depth int) uint64 {
	for i := range 4 {
		x = mix(x, i)
	}
	if depth == 0 {
		return x
	}
	return walkTree(x, depth-1) ^ walkTree(x+1, depth-1)
}

//go:noinline
func growTree(s *shop, n int) {
	type node struct{ left, right *node }
	var root *node
	for range n {
		root = &node{left: root, right: &node{}}
	}
	for at := root; at != nil; at = at.left {
		s.sink++
	}
}

//go:noinline
func flattenTree(s *shop, n int) {
	var flat []int
	for i := range n {
		flat = append(flat, s.ints[i&4095])
	}
	s.sink += uint64(len(flat))
}

//go:noinline
func labelTree(s *shop, n int) {
	for i := range n {
		s.sink += uint64(len(strconv.FormatFloat(s.floats[i&4095], 'g', 6, 64)))
	}
}

//go:noinline
func weighTree(s *shop, n int) { s.average(n) }

//go:noinline
func hashPassword(s *shop, n int) { s.digest(n) }

//go:noinline
func checkToken(s *shop, n int) {
	for i := range n {
		s.sink += uint64(crc32.ChecksumIEEE(s.bytes[i*16 : i*16+512]))
	}
}

//go:noinline
func newSession(s *shop, n int) {
	for i := range n {
		s.sink += uint64(len(fmt.Sprintf("%08x-%s", s.ints[i], "session")))
	}
}

//go:noinline
func auditLogin(s *shop, n int) {
	for i := range n {
		s.sink += uint64(strings.Index("user alice logged in from the office", s.name(i)))
	}
}

//go:noinline
func limitLogin(s *shop, n int) {
	left := 1000
	for i := range n {
		if left -= s.ints[i&4095] & 3; left < 0 {
			left = 1000
		}
	}
	s.sink += uint64(left)
}

//go:noinline
func sumReport(s *shop, n int) {
	for i := range n {
		s.sink += uint64(s.ints[i&4095])
	}
}

//go:noinline
func groupReport(s *shop, n int) {
	groups := map[string][]int{}
	for i := range n {
		groups[s.name(i%50)] = append(groups[s.name(i%50)], i)
	}
	s.sink += uint64(len(groups))
}

//go:noinline
func rankReport(s *shop, n int) {
	ranks := slices.Clone(s.floats[:n])
	slices.SortFunc(ranks, func(a, b float64) int {
		switch {
		case a < b:
			return 1
		case a > b:
			return -1
		}
		return 0
	})
	s.sink += uint64(len(ranks))
}

//go:noinline
func formatReport(s *shop, n int) {
	s.buf.Reset()
	for i := range n {
		fmt.Fprintf(&s.buf, "%d\t%.2f\n", s.ints[i], s.floats[i])
	}
}

//go:noinline
func zipReport(s *shop, n int) { s.deflate(n) }

// What several functions share is in a profile below each of them.

//go:noinline
func (s *shop) digest(n int) {
	for i := range n {
		sum := sha256.Sum256(s.bytes[i*16 : i*16+512])
		s.sink += uint64(sum[0])
	}
}

//go:noinline
func (s *shop) average(n int) {
	sum := 0.0
	for i := range n {
		sum = sum*0.99 + s.floats[i&4095]
	}
	s.sink += uint64(sum)
}

//go:noinline
func (s *shop) deflate(n int) {
	s.buf.Reset()
	w := s.zip
	w.Reset(&s.buf)
	for i := range n {
		if _, err := w.Write(s.bytes[i*512 : i*512+1024]); err != nil {
			return
		}
	}
	if err := w.Close(); err == nil {
		s.sink += uint64(s.buf.Len())
	}
}

func (s *shop) name(i int) string { return "name-" + strconv.Itoa(i) }
