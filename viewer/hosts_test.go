// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/viewer"
)

func TestHostAllowed(t *testing.T) {
	s := newStore(t)
	allowed := func(host string, hosts ...string) bool {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		viewer.Handler(s, viewer.WithAllowedHosts(hosts...)).ServeHTTP(w, r)
		if w.Code != http.StatusOK && (w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "inprocess.WithViewerOptions")) {
			t.Errorf("%q: status %d: %s", host, w.Code, w.Body)
		}
		return w.Code == http.StatusOK
	}
	for host, want := range map[string]bool{
		"localhost":                true,
		"LocalHost:6060":           true,
		"shop.localhost:6060":      true,
		"127.8.9.10:6060":          true,
		"[::1]:6060":               true,
		"[::ffff:127.0.0.1]:80":    true,
		"":                         false,
		"localhost.example.com":    false,
		"notlocalhost":             false,
		"127.0.0.1.example.com:80": false,
		"10.0.0.7:6060":            false,
		"[2001:db8::1]:6060":       false,
	} {
		if got := allowed(host); got != want {
			t.Errorf("%q: allowed %t, want %t", host, got, want)
		}
	}
	if !allowed("debug.internal:8080", "Debug.internal:80") || allowed("other.internal", "debug.internal") {
		t.Error("a list of hosts does not allow those on it, or others too")
	}
	if !allowed("anything", "*") {
		t.Error(`"*" does not allow every host`)
	}
}
