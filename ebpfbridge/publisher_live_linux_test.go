// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package ebpfbridge_test

import (
	"errors"
	"strconv"
	"testing"
)

// TestUpdateIsNeverTorn reads another process while it updates.
func TestUpdateIsNeverTorn(t *testing.T) {
	c := start(t, "update")
	if got := c.line(t); got != "published" {
		t.Fatal(got)
	}
	const wanted = 1000
	versions, changed, last := 0, 0, -1
	var lastPublished uint64
	for versions < wanted {
		got, err := readContext(c.pid)
		switch {
		case errors.Is(err, errChanged):
			changed++
			continue
		case err != nil:
			t.Fatal(err)
		case got.resource["service.name"] == "shop": // before the first update
			continue
		}
		number, err := strconv.Atoi(got.resource["version"])
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := version(number).Set().Value("text"); want.AsString() != got.resource["text"] {
			t.Fatalf("version %d: torn", number)
		}
		if number < last || (number > last) != (got.publishedAt > lastPublished) {
			t.Fatalf("version %d published at %d, after version %d at %d", number, got.publishedAt, last, lastPublished)
		}
		last, lastPublished = number, got.publishedAt
		versions++
	}
	t.Logf("%d reads up to version %d, %d more while it changed", versions, last, changed)
}
