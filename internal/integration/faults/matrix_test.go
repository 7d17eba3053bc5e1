// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/nettest"
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
	network nettest.Fault
	answer  *answer
	lost    bool // the connection is reset when the server has taken a profile
	timeout time.Duration
	outcome outcome
}

// inBody is in the middle of the first request's body.
const inBody = 2000

// networkFaults are the same for all protocols, but that gRPC has to hear from a server
// before it sends a request.
func networkFaults(p protocol) []fault {
	unheard := doubtful
	if p.grpc {
		unheard = refused
	}
	return []fault{
		{name: "latency", network: nettest.Fault{Latency: 20 * time.Millisecond}, outcome: slow},
		{name: "bandwidth", network: nettest.Fault{Bandwidth: 64 << 10}, outcome: slow},
		{name: "slow close", network: nettest.Fault{SlowClose: true}, answer: &answer{takes: true, slow: true}, outcome: slow},
		{name: "refused", network: nettest.Fault{Refused: true}, outcome: refused},
		{name: "reset in the body", network: nettest.Fault{End: nettest.ByReset, After: inBody}, outcome: doubtful},
		{name: "half-open", network: nettest.Fault{End: nettest.BySilence, After: inBody}, timeout: 2 * time.Second, outcome: doubtful},
		{name: "silent", network: nettest.Fault{End: nettest.BySilence}, timeout: 2 * time.Second, outcome: unheard},
		{name: "lost answer", answer: &answer{takes: true}, lost: true, outcome: doubtful},
	}
}

// pyroscopeFaults are what a server may answer to a push, otlpFaults to OTLP/HTTP, by
// whose specification fewer are sent again.
var pyroscopeFaults = []fault{
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
	{name: "500", answer: &answer{status: 500}, outcome: doubtful},
	{name: "502", answer: &answer{status: 502}, outcome: doubtful},
	{name: "503", answer: &answer{status: 503, after: "1"}, outcome: doubtful},
	{name: "504", answer: &answer{status: 504}, outcome: doubtful},
}

var otlpFaults = []fault{
	{name: "400", answer: &answer{status: 400}, outcome: rejected},
	{name: "401", answer: &answer{status: 401}, outcome: rejected},
	{name: "403", answer: &answer{status: 403}, outcome: rejected},
	{name: "404", answer: &answer{status: 404}, outcome: rejected},
	{name: "408", answer: &answer{status: 408}, outcome: rejected},
	{name: "413", answer: &answer{status: 413}, outcome: rejected},
	{name: "422", answer: &answer{status: 422}, outcome: rejected},
	{name: "429", answer: &answer{status: 429}, outcome: refused},
	{name: "500", answer: &answer{status: 500}, outcome: rejected},
	{name: "502", answer: &answer{status: 502}, outcome: doubtful},
	{name: "503", answer: &answer{status: 503, after: "1"}, outcome: doubtful},
	{name: "504", answer: &answer{status: 504}, outcome: doubtful},
}

// grpcFaults are all codes of gRPC.
func grpcFaults() []fault {
	outcomes := map[codes.Code]outcome{
		codes.Canceled: doubtful, codes.DeadlineExceeded: doubtful, codes.Aborted: doubtful,
		codes.OutOfRange: doubtful, codes.Unavailable: doubtful, codes.DataLoss: doubtful,
	}
	faults := []fault{{name: "ResourceExhausted with RetryInfo", answer: &answer{code: codes.ResourceExhausted, info: true}, outcome: refused}}
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
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
	of := map[string][]fault{"pyroscope": pyroscopeFaults, "otlp": otlpFaults, "otlpgrpc": grpcFaults()}
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
		goleak.VerifyNone(t)
	}
}

// produced is how many profiles a case exports.
const produced = 12

// up returns a backend that has the fault and an exporter in front of it.
func (f fault) up(t *testing.T, p protocol) (*backend, *nettest.Proxy, queue) {
	t.Helper()
	b, proxy := behindProxy(t, p)
	if f.network != (nettest.Fault{}) {
		set(t, proxy, f.network)
	}
	if f.answer != nil {
		a := *f.answer
		if f.lost {
			a.first = proxy.Reset
		}
		b.answer.Store(&a)
	}
	q, err := p.new(proxy.Address(), []exporter.QueueOption{exporter.WithTimeout(cmp.Or(f.timeout, patience))})
	if err != nil {
		t.Fatal(err)
	}
	return b, proxy, q
}

// passes has the fault end when it has been met.
func (f fault) passes(t *testing.T, p protocol) {
	b, proxy, q := f.up(t, p)
	// One that is known to have failed, and others that wait behind it.
	export(t, q, 0, 1)
	until(t, q, "outcome", func(s exporter.LaneStatus) bool { return s.Exported+s.Rejected+s.Retries > 0 })
	export(t, q, 1, produced)
	if f.outcome == refused || f.outcome == doubtful {
		if f.network != (nettest.Fault{}) {
			set(t, proxy, nettest.Fault{})
		}
		b.answer.Store(nil)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := q.ForceFlush(ctx); err != nil {
		t.Error(err)
	}
	s := q.Stats()
	switch want := uint64(produced); f.outcome {
	case rejected:
		if s.Rejected != want || s.Retries != 0 {
			t.Errorf("%+v, want %d rejected, each after one attempt", s, want)
		}
	case slow:
		if s.Exported != want || s.Retries != 0 || s.Duplicates != 0 {
			t.Errorf("%+v, want %d exported, each by one attempt", s, want)
		}
	default:
		if s.Exported != want || s.Retries == 0 || f.outcome == doubtful && s.Duplicates == 0 || f.isCertain() && s.Duplicates > 0 {
			t.Errorf("%+v, %d in doubt, want %d exported after retries, in doubt: %t", s, s.Duplicates, want, f.outcome == doubtful)
		}
	}
	f.settle(t, b, s)
	if err := q.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// stays has the program end during the fault.
func (f fault) stays(t *testing.T, p protocol) {
	b, _, q := f.up(t, p)
	export(t, q, 0, produced)
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := q.Shutdown(ctx)
	if d := time.Since(begin); d > 15*time.Second { // of a second: the machine may be busy
		t.Errorf("Shutdown(1 s) took %v", d)
	}
	s := q.Stats()
	if err == nil && s.Unsent > 0 || err != nil && s.Dropped() == 0 {
		t.Errorf("Shutdown: %v, with %+v", err, s)
	}
	f.settle(t, b, s)
}

// isCertain reports whether the server has not taken what fails. Where attempts have
// little time, they may end without an answer on a busy machine.
func (f fault) isCertain() bool {
	return (f.outcome == rejected || f.outcome == refused) && f.timeout == 0
}

// settle compares the account with what the backend has, by id.
func (f fault) settle(t *testing.T, b *backend, s exporter.LaneStatus) {
	t.Helper()
	delivered := b.delivered()
	var missing, twice uint64
	for i := range produced {
		n := delivered[idOf(i)]
		delete(delivered, idOf(i))
		if n == 0 {
			missing++
		}
		if n > 1 {
			twice++
		}
	}
	if len(delivered) > 0 {
		t.Errorf("the backend has %v, which nobody has exported", delivered)
	}
	if s.Taken != produced || s.Exported+s.Dropped() != produced || s.Waiting != 0 {
		t.Errorf("the account does not add up: %+v", s)
	}
	// What was given up without an answer may have arrived.
	unsure := s.Unsent
	if f.isCertain() {
		unsure = 0
	}
	if missing > s.Dropped() || missing+unsure < s.Dropped() {
		t.Errorf("%d of %d are missing, the account says %+v", missing, produced, s)
	}
	if twice > s.Duplicates+unsure {
		t.Errorf("%d were delivered more than once, the account says %+v", twice, s)
	}
}
