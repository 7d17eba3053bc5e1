// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpsend_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/httpsend"
)

// A silent connection of HTTP/2 is found by pings. The program's settings for all its connections
// apply to ours.
func TestOwnPings(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	http.DefaultTransport = &http.Transport{HTTP2: &http.HTTP2Config{SendPingTimeout: time.Hour, MaxReadFrameSize: 1 << 20}}
	if c := httpsend.NewTransport().HTTP2; c.SendPingTimeout != time.Hour || c.MaxReadFrameSize != 1<<20 {
		t.Errorf("HTTP2 %+v", c)
	}
	http.DefaultTransport = roundTripper(nil)
	if c := httpsend.NewTransport().HTTP2; !short(c.SendPingTimeout) || !short(c.PingTimeout) {
		t.Errorf("HTTP2 %+v", c)
	}
}

func short(d time.Duration) bool { return 0 < d && d <= time.Minute }
