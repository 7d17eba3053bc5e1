// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/client"
)

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newClient(t *testing.T, f transport) *Client {
	t.Helper()
	c, err := New(&url.URL{Scheme: "http", Host: "pyroscope"}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	c.client.Transport = f
	return c
}

func answer(status int, contentType, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body))}
}

func series(ctx context.Context, c *Client) error {
	_, err := c.Series(ctx, "", nil, time.Unix(1, 0), time.Unix(2, 0))
	return err
}

// At most eight calls are open. The others wait, until their context ends.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Int64
		release := make(chan struct{})
		c := newClient(t, func(*http.Request) (*http.Response, error) {
			open.Add(1)
			<-release
			return answer(200, asJSON, "{}"), nil
		})
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := series(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := open.Load(); n != 8 {
			t.Errorf("%d calls are open, want 8", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := series(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that waits: %v", err)
		}
		release <- struct{}{}
		synctest.Wait()
		if n := open.Load(); n != 9 {
			t.Errorf("%d calls after one ended, want 9", n)
		}
		for range 19 {
			release <- struct{}{}
		}
		all.Wait()
	})
}

// A call ends after 30 s, with a reason.
func TestCallTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		start := time.Now()
		err := series(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), "Series: no answer within 30s: ask for less time") || time.Since(start) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// An answer may have maxBytes, and not one more. Errors are read up to 16 KiB.
func TestBytes(t *testing.T) {
	for n, want := range map[int]string{1 << 20: "", 1<<20 + 1: "http://pyroscope: Series: the answer has more than 1 MiB: ask for less time or by more labels"} {
		c := newClient(t, func(*http.Request) (*http.Response, error) {
			return answer(200, asJSON, "{}"+strings.Repeat(" ", n-2)), nil
		})
		if err := series(t.Context(), c); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%d bytes: got %v, want %q", n, err, want)
		}
	}
	body := strings.NewReader(strings.Repeat("x", 1<<20))
	c := newClient(t, func(*http.Request) (*http.Response, error) {
		refusal := answer(500, "text/plain", "")
		refusal.Body = io.NopCloser(body)
		return refusal, nil
	})
	if err := series(t.Context(), c); err == nil || body.Len() != 1<<20-16<<10 {
		t.Errorf("%d bytes of an error are left: %v", body.Len(), err)
	}
}

// An outage is reported once, and its end too.
func TestReportTo(t *testing.T) {
	status := 0
	c := newClient(t, func(*http.Request) (*http.Response, error) {
		if status == 0 {
			return nil, io.EOF
		}
		if status == 501 {
			return answer(status, asJSON, `{"code":"unimplemented"}`), nil
		}
		return answer(status, asJSON, "{}"), nil
	})
	var got []string
	c.ReportTo(func(text string) { got = append(got, strings.TrimPrefix(text, "http://pyroscope: ")) })
	for _, status = range []int{503, 0, 404, 200, 501, 0} {
		_ = series(t.Context(), c)
	}
	const shown = "; pages show errors until it answers"
	if want := []string{"Series: the server answers Service Unavailable: {}" + shown, "it answers again", "Series: EOF" + shown}; !slices.Equal(got, want) {
		t.Errorf("reported %q, want %q", got, want)
	}
}

// An answer of another form is refused.
func TestContentType(t *testing.T) {
	c := newClient(t, func(*http.Request) (*http.Response, error) { return answer(200, asProto, "{}"), nil })
	if err := series(t.Context(), c); err == nil || !strings.Contains(err.Error(), `the answer is "application/proto"`) {
		t.Error(err)
	}
}

func TestIsUnimplemented(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{&client.StatusError{Reason: "unimplemented", Code: 501}, true},
		{&client.StatusError{Code: 404}, true},
		{&client.StatusError{Reason: "not_found", Code: 404}, false},
		{&client.StatusError{Code: 500}, false},
		{io.EOF, false},
	} {
		if got := IsUnimplemented(test.err); got != test.want {
			t.Errorf("%v: got %v", test.err, got)
		}
	}
}

func TestParseType(t *testing.T) {
	for id, want := range map[string]Type{
		"process_cpu:cpu:nanoseconds:cpu:nanoseconds":           {Kind: "cpu", Sample: "cpu", Unit: "nanoseconds"},
		"process_cpu:wall:nanoseconds:cpu:nanoseconds":          {Kind: "wall", Sample: "wall", Unit: "nanoseconds"},
		"process_cpu:exceptions:count::":                        {Kind: "cpu", Sample: "exceptions", Unit: "count"},
		"host:cpu:nanoseconds:cpu:nanoseconds":                  {Kind: "host", Sample: "cpu", Unit: "nanoseconds"},
		"memory:inuse_space:bytes:space:bytes":                  {Kind: "heap", Sample: "inuse_space", Unit: "bytes"},
		"memory:alloc_in_new_tlab_bytes:bytes:space:bytes":      {Kind: "heap", Sample: "alloc_space", Unit: "bytes"},
		"goroutines:goroutine:count:goroutine:count":            {Kind: "goroutine", Sample: "goroutine", Unit: "count"},
		"mutex:contentions:count:contentions:count":             {Kind: "mutex", Sample: "contentions", Unit: "count"},
		"block_duration:block_duration:lock_nanoseconds:x:y":    {Kind: "block", Sample: "delay", Unit: "nanoseconds"},
		"mutex_count:mutex_count:lock_samples:lock:lock_sample": {Kind: "mutex", Sample: "contentions", Unit: "count"},
		"shop:cache_misses:count:x:y":                           {Kind: "other_cache_misses", Sample: "cache_misses", Unit: "count"},
	} {
		want.ID = id
		if got, ok := ParseType(id); !ok || got != want {
			t.Errorf("%s: got %+v, want %+v", id, got, want)
		}
		if got, _ := ParseType(id); got.Momentary() != (want.Sample == "inuse_space" || want.Kind == "goroutine") {
			t.Errorf("%s: momentary %v", id, got.Momentary())
		}
	}
	if got, ok := ParseType("process_cpu:cpu:nanoseconds:cpu"); ok {
		t.Errorf("got %+v", got)
	}
}

// field reads the last field with a number, and refuses other bytes.
func TestField(t *testing.T) {
	message := appendNumber(appendText(appendText(nil, 5, "first"), 5, "last"), 5, 9)
	if value, found, err := field(message, 5); string(value) != "last" || !found || err != nil {
		t.Errorf("got %q, %v, %v", value, found, err)
	}
	if value, found, err := field(message, 4); value != nil || found || err != nil {
		t.Errorf("got %q, %v, %v", value, found, err)
	}
	for _, damaged := range [][]byte{{0xff}, append(message, 0x2a, 0x05, 'x')} {
		if _, found, err := field(damaged, 5); found || !errors.Is(err, errDamaged) {
			t.Errorf("%x: got %v, %v", damaged, found, err)
		}
		if _, err := decodeMerge(damaged); !errors.Is(err, errDamaged) {
			t.Errorf("%x: got %v", damaged, err)
		}
	}
	if p, err := decodeMerge(nil); p != nil || err != nil {
		t.Errorf("nothing: got %v, %v", p, err)
	}
	if _, err := decodeMerge(appendText(nil, 1, "a flame graph")); err == nil || !strings.Contains(err.Error(), "since version 2.2") {
		t.Errorf("another form: %v", err)
	}
}

// A profile has one type. Without samples there is none.
func TestDecodeProfile(t *testing.T) {
	for _, test := range []struct {
		types, samples, want int
		err                  string
	}{
		{1, 2, 2, ""},
		{1, 0, 0, ""},
		{2, 1, 0, "its samples have 2 values, want 1"},
		{0, 1, 0, "it is no profile in the pprof format: "},
	} {
		made := &profile.Profile{}
		for range test.types {
			made.SampleType = append(made.SampleType, &profile.ValueType{Type: "cpu", Unit: "nanoseconds"})
		}
		for range test.samples {
			made.Sample = append(made.Sample, &profile.Sample{Value: make([]int64, test.types)})
		}
		var b bytes.Buffer
		if err := made.WriteUncompressed(&b); err != nil {
			t.Fatal(err)
		}
		p, err := decodeProfile(b.Bytes())
		if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) || test.err == "" && err != nil {
			t.Errorf("%+v: %v", test, err)
		}
		if (p != nil) != (test.want > 0) || p != nil && len(p.Sample) != test.want {
			t.Errorf("%+v: got %v", test, p)
		}
	}
}

func FuzzDecodeMerge(f *testing.F) {
	for _, seed := range []string{"", "\x2a\x02\x0a\x00", "\x0a\x02\x18\x01", "\x2a\xff\xff\xff\x7f", "\x2a\x06\x0a\x04\x12\x02\x0a\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		p, err := decodeMerge(answer)
		if err != nil || p == nil {
			return
		}
		for _, s := range p.Sample {
			if len(s.Value) != 1 {
				t.Fatalf("a sample has %d values", len(s.Value))
			}
		}
	})
}
