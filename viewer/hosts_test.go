// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "testing"

func TestHostAllowed(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost":                true,
		"LocalHost:6060":           true,
		"localhost.:80":            true,
		"shop.localhost:6060":      true,
		"127.0.0.1":                true,
		"127.8.9.10:6060":          true,
		"[::1]":                    true,
		"[::1]:6060":               true,
		"[::ffff:127.0.0.1]:80":    true,
		"":                         false,
		"example.com":              false,
		"localhost.example.com":    false,
		"notlocalhost":             false,
		"127.0.0.1.example.com:80": false,
		"10.0.0.7:6060":            false,
		"[2001:db8::1]:6060":       false,
		"debug.internal:8080":      false,
	} {
		if got := hostAllowed(host, nil); got != want {
			t.Errorf("%q: allowed %t, want %t", host, got, want)
		}
	}
	if !hostAllowed("debug.internal:8080", []string{"debug.internal"}) || hostAllowed("other.internal", []string{"debug.internal"}) {
		t.Error("a list of hosts allows those on it and no other")
	}
	if !hostAllowed("anything", []string{"*"}) {
		t.Error(`"*" allows every host`)
	}
}
