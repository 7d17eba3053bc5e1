// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package secrets_test

import (
	"testing"

	"github.com/spanprof/spanprof/internal/secrets"
)

// usual are values of usual spans, and how often hiding their secrets may allocate.
var usual = []struct {
	name   string
	hide   func(string) string
	value  string
	allocs float64
}{
	{"path", secrets.Text, "/api/v1/users/123/orders/456", 0},
	{"query", secrets.Query, "q=running+caf%C3%A9%20x&page=2&sort_key=price&country_code=DE", 1},
	{"url", secrets.Text, "https://shop.example:8443/api/v1/users/123?page=2&sort_key=price", 0},
	{"error", secrets.Text, "Dial tcp 10.0.0.1:5432: connect: connection refused", 0},
	{"statement", secrets.Statement, `SELECT "id", price FROM "item" WHERE cart = $1 AND deleted_at IS NULL ORDER BY updated_at`, 0},
	{"literals", secrets.Statement, "SELECT id, price FROM item WHERE cart = 'abc' AND price > 10 ORDER BY updated_at", 2},
	{"secret", secrets.Query, "q=running+shoes&sig=abcdef", 2},
}

func TestAllocations(t *testing.T) {
	for _, u := range usual {
		if got := testing.AllocsPerRun(100, func() { u.hide(u.value) }); got > u.allocs {
			t.Errorf("%s: %v allocations, want at most %v", u.name, got, u.allocs)
		}
	}
}

func BenchmarkHide(b *testing.B) {
	for _, u := range usual {
		b.Run(u.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				u.hide(u.value)
			}
		})
	}
}
