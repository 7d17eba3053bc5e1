// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package ebpfbridge_test

import (
	"errors"
	"strconv"
	"strings"
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

// TestRefused publishes where the kernel refuses calls, as older or hardened kernels do.
func TestRefused(t *testing.T) {
	for role, want := range map[string]struct{ line, mapping string }{
		"no memfd": {"published", "[anon:OTEL_CTX]"},
		"no name":  {"published", "/memfd:OTEL_CTX (deleted)"},
		"neither":  {"unsupported, 0 mappings and 0 files left", ""},
	} {
		t.Run(role, func(t *testing.T) {
			c := start(t, role)
			line := c.line(t)
			if role == "no memfd" && strings.HasPrefix(line, "unsupported") {
				t.Skip("this kernel cannot name memory (CONFIG_ANON_VMA_NAME)")
			}
			if line != want.line {
				t.Errorf("got %q, want %q", line, want.line)
			}
			if want.mapping == "" {
				return
			}
			got, err := readContext(c.pid)
			if err != nil {
				t.Fatal(err)
			}
			if got.mapping != want.mapping || got.resource["service.name"] != "shop" {
				t.Errorf("got %v, want %s", got, want.mapping)
			}
		})
	}
}
