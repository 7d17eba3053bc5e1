// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// step is a function of the shop with how much it does for a request of common size.
type step struct {
	name string
	do   func(s *shop, n int)
	n    int
}

// kind is a kind of request, which runs the steps.
type kind struct {
	name  string
	share int // of 100 requests
	// spread is the standard deviation of the logarithm of sizes. A few requests are much larger
	// than most, so that samples come in clusters.
	spread float64
	steps  []step
}

// Every step is of one kind of request.
var kinds = []kind{
	{"GET /cart", 26, 0.3, []step{
		{"priceCart", priceCart, 800000}, {"readCart", readCart, 12}, {"sortLines", sortLines, 300}, {"renderCart", renderCart, 90}, {"signCart", signCart, 60},
	}},
	{"GET /item", 22, 0.5, []step{
		{"findItem", findItem, 300}, {"describeItem", describeItem, 60}, {"rateItem", rateItem, 24000}, {"linkItem", linkItem, 40}, {"cacheItem", cacheItem, 20},
	}},
	{"POST /order", 12, 0.7, []step{
		{"checkOrder", checkOrder, 40000}, {"taxOrder", taxOrder, 40000}, {"numberOrder", numberOrder, 200}, {"packOrder", packOrder, 2}, {"storeOrder", storeOrder, 12},
	}},
	{"GET /search", 14, 1.1, []step{
		{"splitQuery", splitQuery, 80}, {"scoreHits", scoreHits, 40000}, {"mergeHits", mergeHits, 600}, {"countFacets", countFacets, 1500}, {"markHits", markHits, 60},
	}},
	{"GET /image", 8, 1.1, []step{
		{"scaleImage", scaleImage, 60000}, {"blurImage", blurImage, 40000}, {"encodeImage", encodeImage, 3}, {"hashImage", hashImage, 240}, {"tileImage", tileImage, 60000},
	}},
	{"GET /tree", 8, 0.9, []step{
		{"walkTree", walkTreeFrom, 40}, {"growTree", growTree, 60}, {"flattenTree", flattenTree, 500}, {"labelTree", labelTree, 150}, {"weighTree", weighTree, 40000},
	}},
	{"POST /login", 5, 0.3, []step{
		{"hashPassword", hashPassword, 500}, {"checkToken", checkToken, 400}, {"newSession", newSession, 12}, {"auditLogin", auditLogin, 90}, {"limitLogin", limitLogin, 60000},
	}},
	{"GET /report", 5, 1.3, []step{
		{"sumReport", sumReport, 120000}, {"groupReport", groupReport, 500}, {"rankReport", rankReport, 700}, {"formatReport", formatReport, 200}, {"zipReport", zipReport, 3},
	}},
}

// shop is the state of one worker.
type shop struct {
	random *rand.Rand
	ints   []int
	floats []float64
	bytes  []byte
	index  map[string]int
	buf    bytes.Buffer
	doc    []byte
	zip    *flate.Writer
	sink   uint64
}

func newShop(seed uint64) *shop {
	s := &shop{random: rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15)), ints: make([]int, 4096), floats: make([]float64, 4096), bytes: make([]byte, 64<<10), index: map[string]int{}}
	for i := range s.ints {
		s.ints[i], s.floats[i] = s.random.IntN(1<<20), s.random.Float64()
		s.index["item-"+strconv.Itoa(i)] = i
	}
	for i := range s.bytes {
		s.bytes[i] = byte(s.random.IntN(64))
	}
	s.zip, _ = flate.NewWriter(&s.buf, flate.BestSpeed)
	s.doc, _ = json.Marshal(map[string]any{"id": 4711, "lines": []int{1, 2, 3, 5, 8}, "note": "leave it at the door", "price": 12.5})
	return s
}

// mix is what the shop's own loops do: some arithmetic that depends on the step before.
func mix(x uint64, i int) uint64 {
	x ^= uint64(i) * 0x9e3779b97f4a7c15
	return x ^ x>>29
}

//go:noinline
func priceCart(s *shop, n int) {
	x := s.sink
	for i := range n {
		x = mix(x, i) * 3
	}
	s.sink = x
}

//go:noinline
func readCart(s *shop, n int) {
	for range n {
		var v map[string]any
		if json.Unmarshal(s.doc, &v) == nil {
			s.sink += uint64(len(v))
		}
	}
}

//go:noinline
func sortLines(s *shop, n int) {
	lines := slices.Clone(s.ints[:n])
	slices.Sort(lines)
	s.sink += uint64(lines[0])
}

//go:noinline
func renderCart(s *shop, n int) {
	var b strings.Builder
	for i := range n {
		b.WriteString("<li>")
		b.WriteString(strconv.Itoa(s.ints[i]))
		b.WriteString("</li>")
	}
	s.sink += uint64(b.Len())
}

//go:noinline
func signCart(s *shop, n int) { s.digest(n) }

//go:noinline
func findItem(s *shop, n int) {
	for i := range n {
		s.sink += uint64(s.index["item-"+strconv.Itoa(i)])
	}
}

//go:noinline
func describeItem(s *shop, n int) {
	for i := range n {
		s.sink += uint64(len(strings.Repeat("soft ", i%7) + "chair"))
	}
}

//go:noinline
func rateItem(s *shop, n int) { s.average(n) }

//go:noinline
func linkItem(s *shop, n int) {
	for i := range n {
		s.sink += uint64(len(base64.URLEncoding.EncodeToString(s.bytes[i : i+64])))
	}
}

//go:noinline
func cacheItem(s *shop, n int) {
	cache := map[int][]byte{}
	for i := range n {
		cache[i] = make([]byte, 256)
	}
	s.sink += uint64(len(cache))
}

//go:noinline
func checkOrder(s *shop, n int) {
	bad := 0
	for i := range n {
		if s.ints[i&4095]&7 == 3 {
			bad++
		}
	}
	s.sink += uint64(bad)
}

//go:noinline
func taxOrder(s *shop, n int) {
	sum := 0.0
	for i := range n {
		sum += s.floats[i&4095] * 0.19
	}
	s.sink += uint64(sum)
}

//go:noinline
func numberOrder(s *shop, n int) {
	for i := range n {
		s.buf.Reset()
		s.buf.Write(strconv.AppendInt(s.buf.AvailableBuffer(), int64(i)*7919, 36))
	}
}

//go:noinline
func packOrder(s *shop, n int) { s.deflate(n) }

//go:noinline
func storeOrder(s *shop, n int) {
	for i := range n {
		b, _ := json.Marshal(map[string]int{"order": i, "lines": s.ints[i]})
		s.sink += uint64(len(b))
	}
}

//go:noinline
func splitQuery(s *shop, n int) {
	for range n {
		s.sink += uint64(len(strings.Fields("a red chair of wood for the garden")))
	}
}

//go:noinline
func scoreHits(s *shop, n int) {
	best := 0.0
	for i := range n {
		best = max(best, math.Sqrt(s.floats[i&4095])*s.floats[(i*7)&4095])
	}
	s.sink += uint64(best)
}

//go:noinline
func mergeHits(s *shop, n int) {
	hits := append(slices.Clone(s.ints[:n]), s.ints[n/2:n]...)
	slices.Sort(hits)
	s.sink += uint64(len(slices.Compact(hits)))
}

//go:noinline
func countFacets(s *shop, n int) {
	facets := map[int]int{}
	for i := range n {
		facets[s.ints[i&4095]%97]++
	}
	s.sink += uint64(len(facets))
}

//go:noinline
func markHits(s *shop, n int) {
	for range n {
		s.sink += uint64(len(strings.ReplaceAll("a red chair, a red table, a red lamp", "red", "<b>red</b>")))
	}
}

//go:noinline
func scaleImage(s *shop, n int) {
	for i := range n {
		s.bytes[i&0xfff] = byte((int(s.bytes[i&0xfff])*3 + int(s.bytes[(i+1)&0xfff])) >> 2)
	}
}

//go:noinline
func blurImage(s *shop, n int) {
	for i := range n {
		s.sink += (uint64(s.bytes[i&0xfff]) + uint64(s.bytes[(i+1)&0xfff]) + uint64(s.bytes[(i+2)&0xfff])) / 3
	}
}
