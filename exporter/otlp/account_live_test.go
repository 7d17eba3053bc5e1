// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package otlp_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter/otlp"
)

// A server of a real network fails in each way, before and after it has taken a message. What
// the account has as exported has arrived, and nothing else is missing.
func TestAccountOfFailures(t *testing.T) {
	const n = 100
	b := &backend{t: t}
	b.answer = func(w http.ResponseWriter, r *http.Request) {
		switch rand.N(12) {
		case 0:
			status(http.StatusServiceUnavailable, "starting")(w, r)
		case 1:
			status(http.StatusTooManyRequests, "slower")(w, r)
		case 2: // no answer, not taken
			panic(http.ErrAbortHandler)
		case 3: // no answer, but taken
			b.receive(r)
			panic(http.ErrAbortHandler)
		default:
			b.receive(r)
			w.WriteHeader(http.StatusOK)
		}
	}
	server := httptest.NewServer(b)
	defer server.Close()
	e, err := otlp.New(otlp.WithEndpointURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	wait := func(most int) {
		for end := time.Now().Add(30 * time.Second); e.Status().Waiting > most && time.Now().Before(end); {
			<-time.After(10 * time.Millisecond)
		}
	}
	for number := range int64(n) {
		wait(10)
		export(t, e, number+1)
	}
	wait(1) // Shutdown may make the last attempt
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = e.Shutdown(ctx) // the account has what it drops

	_, messages := b.received()
	arrived := map[int64]bool{}
	for _, m := range messages {
		for _, r := range m.ResourceProfiles {
			arrived[r.ScopeProfiles[0].Profiles[0].Samples[0].Values[0]] = true
		}
	}
	s := e.Status()
	unsent := s.Lost["unsent"]
	t.Logf("%d of %d arrived in %d messages; %+v", len(arrived), n, len(messages), s)
	if s.Taken != n || s.Exported+unsent != n || s.Waiting != 0 || len(s.Lost) > 1 || len(s.Lost) == 1 && unsent == 0 {
		t.Errorf("the account is not whole: %+v", s)
	}
	if got := uint64(len(arrived)); got < s.Exported || got > s.Exported+unsent {
		t.Errorf("%d arrived, want from %d on, and at most %d", got, s.Exported, s.Exported+unsent)
	}
}
