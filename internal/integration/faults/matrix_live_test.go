// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package faults

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/internal/livetest"
)

// outcome is what becomes of profiles that are exported while there is a fault.
type outcome int

const (
	slow     outcome = iota // they arrive during it
	rejected                // they are dropped
	refused                 // they are sent again, and the server certainly has not taken them
	doubtful                // they are sent again, and the server may have them already
)

// fault is what is wrong with the network or the server.
type fault struct {
	name    string
	network networkFault
	answer  *answer
	lost    bool // the connection is reset when the server has taken a profile
	timeout time.Duration
	outcome outcome
}

// inBody is in the middle of the first request's body.
const inBody = 2000

// networkFaults are the same for all protocols, except one: gRPC sends a request only after the
// first bytes of a server.
func networkFaults(p protocol) []fault {
	unheard := doubtful
	if p.grpc {
		unheard = refused
	}
	return []fault{
		{name: "latency", network: networkFault{Latency: 20 * time.Millisecond}, outcome: slow},
		{name: "bandwidth", network: networkFault{Bandwidth: 64 << 10}, outcome: slow},
		{name: "slow close", network: networkFault{SlowClose: true}, answer: &answer{takes: true, slow: true}, outcome: slow},
		{name: "refused", network: networkFault{Refused: true}, outcome: refused},
		{name: "reset in the body", network: networkFault{End: byReset, After: inBody}, outcome: doubtful},
		{name: "half-open", network: networkFault{End: bySilence, After: inBody}, timeout: 2 * time.Second, outcome: doubtful},
		{name: "silent", network: networkFault{End: bySilence}, timeout: 2 * time.Second, outcome: unheard},
		{name: "lost answer", answer: &answer{takes: true}, lost: true, outcome: doubtful},
	}
}

// httpFaults are answers of a server to a push, and to OTLP/HTTP.
var httpFaults = []fault{
	{name: "400", answer: &answer{status: 400}, outcome: rejected},
	{name: "401", answer: &answer{status: 401}, outcome: rejected},
	{name: "403", answer: &answer{status: 403}, outcome: rejected},
	{name: "404", answer: &answer{status: 404}, outcome: rejected},
	{name: "408", answer: &answer{status: 408}, outcome: doubtful},
	{name: "413", answer: &answer{status: 413}, outcome: rejected},
	{name: "422", answer: &answer{status: 422, text: "profile is too old"}, outcome: rejected},
	{name: "422 of a restart", answer: &answer{status: 422, text: "rpc error: code = Unavailable"}, outcome: doubtful},
	{name: "422 of a limit", answer: &answer{status: 422, text: "resource_exhausted"}, outcome: refused},
	{name: "429", answer: &answer{status: 429}, outcome: refused},
	{name: "500 of a restart", answer: &answer{status: 500, text: "rpc error: code = Unavailable"}, outcome: doubtful},
	{name: "502", answer: &answer{status: 502}, outcome: doubtful},
	{name: "503", answer: &answer{status: 503, after: "1"}, outcome: doubtful},
	{name: "504", answer: &answer{status: 504}, outcome: doubtful},
}

// grpcFaults are all codes of gRPC, except the codes after which five attempts are made.
func grpcFaults() []fault {
	outcomes := map[codes.Code]outcome{
		codes.Canceled: doubtful, codes.DeadlineExceeded: doubtful, codes.Aborted: doubtful,
		codes.OutOfRange: doubtful, codes.Unavailable: doubtful, codes.DataLoss: doubtful,
	}
	faults := []fault{{name: "ResourceExhausted with RetryInfo", answer: &answer{code: codes.ResourceExhausted, info: true}, outcome: refused}}
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		if c == codes.Unknown || c == codes.Internal || c == codes.ResourceExhausted {
			continue
		}
		f := fault{name: c.String(), answer: &answer{code: c}, outcome: rejected}
		if o, ok := outcomes[c]; ok {
			f.outcome = o
		}
		faults = append(faults, f)
	}
	return faults
}

// Each fault ends, and everything that was not rejected arrives; or the program ends
// during it, and what is lost is counted. No goroutine is left.
func TestMatrix(t *testing.T) {
	of := map[string][]fault{"pyroscope": httpFaults, "otlp": httpFaults, "otlpgrpc": grpcFaults()}
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			for _, f := range slices.Concat(of[p.name], networkFaults(p)) {
				t.Run(f.name+"/passes", func(t *testing.T) {
					t.Parallel()
					f.passes(t, p)
				})
				t.Run(f.name+"/stays", func(t *testing.T) {
					t.Parallel()
					f.stays(t, p)
				})
			}
		})
		if err := leaktest.Find(); err != nil {
			t.Error(err)
		}
	}
}

// produced is how many profiles a case exports.
const produced = 12

// up returns a backend that has the fault and an exporter in front of it. Its attempts have that
// timeout, and a sees them.
func (f fault) up(t *testing.T, p protocol, a *attempts, timeout time.Duration) (*backend, *networkProxy, queue) {
	t.Helper()
	b, proxy := behindProxy(t, p)
	if f.network != (networkFault{}) {
		set(t, proxy, f.network)
	}
	if f.answer != nil {
		answer := *f.answer
		if f.lost {
			answer.first = proxy.Reset
		}
		b.answer.Store(&answer)
	}
	q, err := p.new(proxy.Address(), a, exporter.QueueConfig{Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	return b, proxy, q
}

// passes has the fault end when it has been met.
func (f fault) passes(t *testing.T, p protocol) {
	ctx := livetest.Context(t, livetest.Most)
	b, proxy, q := f.up(t, p, nil, cmp.Or(f.timeout, livetest.Most))
	// One that is known to have failed, and others that wait behind it.
	export(t, q, 0, 1)
	retries := uint64(0)
	if f.network.End != whole {
		// On a busy machine, an attempt may have no connection yet when its time is over.
		until(ctx, t, q, "connection that fails", func(exporter.Status) bool { return proxy.Failed() > 0 })
		retries = q.Status().Retries
	}
	until(ctx, t, q, "outcome", func(s exporter.Status) bool { return s.Exported+s.Lost["rejected"] > 0 || s.Retries > retries })
	export(t, q, 1, produced)
	if f.outcome == refused || f.outcome == doubtful {
		if f.network != (networkFault{}) {
			set(t, proxy, networkFault{})
		}
		b.answer.Store(nil)
	}
	if err := q.ForceFlush(ctx); (err != nil) != (f.outcome == rejected) {
		t.Errorf("ForceFlush: %v", err)
	}
	s := q.Status()
	switch want := uint64(produced); {
	case f.outcome == rejected && (s.Lost["rejected"] != want || s.Retries != 0):
		t.Errorf("%+v, want %d rejected, each after one attempt", s, want)
	case f.outcome == slow && (s.Exported != want || s.Retries != 0):
		t.Errorf("%+v, want %d exported, each by one attempt", s, want)
	case (f.outcome == refused || f.outcome == doubtful) && (s.Exported != want || s.Retries == 0):
		t.Errorf("%+v, want %d exported after retries", s, want)
	}
	taken, failed := b.delivered()
	wantTaken(t, taken, s.Exported, s)
	twice := more(taken, 1)
	switch {
	case f.timeout > 0: // after the fault too, an attempt may end without an answer on a busy machine
		if twice > s.Duplicates || f.outcome == doubtful && s.Duplicates == 0 {
			t.Errorf("%d were taken more than once, the account says %+v", twice, s)
		}
	case f.lost:
		if twice == 0 || s.Duplicates != twice {
			t.Errorf("%d were taken more than once, the account says %+v", twice, s)
		}
	case f.outcome == doubtful && f.answer != nil:
		if doubted := more(failed, 0); twice != 0 || doubted == 0 || s.Duplicates != doubted {
			t.Errorf("%d were taken more than once, %d got another answer at first, the account says %+v", twice, doubted, s)
		}
	default:
		if twice != 0 || (s.Duplicates > 0) != (f.outcome == doubtful) {
			t.Errorf("%d were taken more than once, the account says %+v, in doubt: %t", twice, s, f.outcome == doubtful)
		}
	}
	if err := q.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// stays has the program end during the fault, within a second. What takes more time is
// in the hands of Shutdown's context alone: an attempt would take longer than the test.
func (f fault) stays(t *testing.T, p protocol) {
	a := newAttempts(t)
	bound := livetest.Context(t, livetest.Most)
	b, _, q := f.up(t, p, a, 2*livetest.Most)
	export(t, q, 0, produced)
	if f.lost { // on a busy machine, no answer may be lost within a second
		until(bound, t, q, "lost answer", func(exporter.Status) bool {
			taken, _ := b.delivered()
			return len(taken) > 0
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- q.Shutdown(ctx) }()
	var err error
	select {
	case err = <-result:
	case <-bound.Done():
		t.Fatal("Shutdown goes on after its context has ended")
	}
	a.end()

	s := q.Status()
	if s.Taken != produced || s.Exported+lost(s) != produced || s.Waiting != 0 {
		t.Errorf("the account does not add up: %+v", s)
	}
	// After an answer of the last moment, the error counts profiles that were delivered. A
	// profile that was rejected before Shutdown is in no error.
	ended := errors.Is(err, context.DeadlineExceeded)
	if s.Lost["unsent"] > 0 && !ended || lost(s) == 0 && err != nil && !ended {
		t.Errorf("Shutdown: %v, with %+v", err, s)
	}
	f.settle(bound, t, b, q, a)
}

// settle compares the account after a Shutdown with what the client and the backend have
// seen, by id.
func (f fault) settle(ctx context.Context, t *testing.T, b *backend, q queue, a *attempts) {
	t.Helper()
	attempts := a.seen()
	var said uint64 // to have been taken, by the backend to the client
	for _, of := range attempts {
		if slices.ContainsFunc(of, attempt.wasTaken) {
			said++
		}
	}
	// The answer may have come at the moment at which Shutdown gave up.
	until(ctx, t, q, "delivery in the account", func(s exporter.Status) bool { return s.Exported >= said })
	s := q.Status()
	taken, _ := b.delivered()
	wantTaken(t, taken, uint64(len(taken)), s)
	if s.Exported != said {
		t.Errorf("the client has heard of %d that were taken, the account says %+v", said, s)
	}
	if f.lost && (said != 0 || len(taken) == 0 || s.Lost["unsent"] != produced) {
		t.Errorf("%d were taken, %d answers arrived, the account says %+v", len(taken), said, s)
	}
	var unsaid uint64
	for id, n := range taken {
		of := attempts[id]
		unheard := 0 // attempts without a known outcome at the client
		for _, k := range of {
			if !k.taken && (f.lost || k.cut) {
				unheard++
			}
		}
		switch {
		case n > len(of):
			t.Errorf("%s was taken %d times by %d attempts", id, n, len(of))
		case slices.ContainsFunc(of, attempt.wasTaken):
			n-- // the answer to this one arrived
		default:
			unsaid++
		}
		if n > unheard {
			t.Errorf("%s was taken %d times without an answer, by %d attempts that had none", id, n, unheard)
		}
	}
	if got := lost(s) - (produced - uint64(len(taken))); got != unsaid {
		t.Errorf("%d are said to be lost and have arrived, want %d: %+v", got, unsaid, s)
	}
}

// wantTaken checks that the backend has as many profiles as that, of those that were
// exported.
func wantTaken(t *testing.T, taken map[string]int, want uint64, s exporter.Status) {
	t.Helper()
	if uint64(len(taken)) != want {
		t.Errorf("the backend has %d, the account says %+v", len(taken), s)
	}
	for id := range taken {
		if n, err := strconv.ParseUint(id, 16, 64); err != nil || n < 1 || n > produced {
			t.Errorf("the backend has %s, which nobody has exported", id)
		}
	}
}

// more returns of how many ids there are more than n.
func more(of map[string]int, n int) (ids uint64) {
	for _, times := range of {
		if times > n {
			ids++
		}
	}
	return ids
}
