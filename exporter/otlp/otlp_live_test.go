// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package otlp_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/spanprof/spanprof/exporter/otlp"
)

func TestProxy(t *testing.T) {
	b := &backend{t: t}
	proxy := httptest.NewServer(b)
	defer proxy.Close()
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, otlp.WithEndpointURL("http://collector.invalid/v1development/profiles"), otlp.WithHTTPClient(&http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(address)}}))
	if requests, _ := b.received(); len(requests) != 1 || requests[0].URL.Host != "collector.invalid" {
		t.Errorf("the proxy got %v", requests)
	}
}
