// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// fake is a server with some profile types of the service shop. It keeps the questions.
type fake struct {
	types    []string
	answers  map[string]string // by method, in protobuf by "METHOD proto"
	requests []string
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	body, _ := io.ReadAll(r.Body)
	method := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	f.requests = append(f.requests, method+" "+string(body))
	if method == "Series" {
		var sets []string
		service := `{"name":"service_name","value":"shop"},`
		if !bytes.Contains(body, []byte(`"service_name",`)) { // only the labels of the request
			service = ""
		}
		for _, t := range f.types {
			sets = append(sets, fmt.Sprintf(`{"labels":[%s{"name":"__profile_type__","value":%q}]}`, service, t))
		}
		_, _ = fmt.Fprintf(w, `{"labelsSet":[%s]}`, strings.Join(sets, ","))
		return
	}
	if r.Header.Get("Content-Type") == "application/proto" {
		_, _ = io.WriteString(w, f.answers[method+" proto"])
		return
	}
	_, _ = io.WriteString(w, cmp.Or(f.answers[method], "{}"))
}

// mergedAnswer returns the answer to SelectMergeStacktraces with samples of one function.
func mergedAnswer(t *testing.T, values ...int64) string {
	t.Helper()
	fn := &profile.Function{ID: 1, Name: "main.work"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: fn}}}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, Function: []*profile.Function{fn}, Location: []*profile.Location{l}}
	for _, v := range values {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{v}})
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	inner := append(binary.AppendUvarint([]byte{1<<3 | 2}, uint64(b.Len())), b.Bytes()...)
	return string(append(binary.AppendUvarint([]byte{5<<3 | 2}, uint64(len(inner))), inner...))
}

const (
	cpuType   = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
	countType = "process_cpu:samples:count:cpu:nanoseconds"
	wallType  = "wall:wall:nanoseconds:wall:nanoseconds"
	heapType  = "memory:inuse_space:bytes:space:bytes"
	delayType = "mutex:delay:nanoseconds:contentions:count"
)

// Samples has sums of the server's samples. Their number is another question.
func TestStacks(t *testing.T) {
	for _, test := range []struct {
		types   []string
		query   store.Query
		values  []int64
		total   int64
		samples int64
		notes   int
	}{
		{[]string{cpuType, countType}, store.Query{Kind: exporter.KindCPU, Stacks: true}, []int64{5, 7}, 12, 42, 0},
		{[]string{cpuType}, store.Query{Kind: exporter.KindCPU, Stacks: true}, []int64{5, 7, 0}, 12, 2, 0},
		{[]string{countType}, store.Query{Kind: exporter.KindCPU, SampleType: "samples", Stacks: true}, []int64{5, 7}, 12, 12, 0},
		{[]string{cpuType, countType}, store.Query{Kind: exporter.KindCPU, Stacks: true}, nil, 0, 0, 0},
		{[]string{heapType}, store.Query{Kind: exporter.KindHeap, Stacks: true}, []int64{5}, 5, 1, 1},
		{[]string{delayType}, store.Query{Kind: exporter.KindMutex, Stacks: true}, []int64{5}, 5, 1, 0},
	} {
		f := &fake{types: test.types, answers: map[string]string{"SelectMergeStacktraces": `{"flamegraph":{"total":"42"}}`}}
		if test.values != nil {
			f.answers["SelectMergeStacktraces proto"] = mergedAnswer(t, test.values...)
		}
		v := viewOf(t, f)
		s, err := v.Samples(test.query)
		if err != nil || s.Total != test.total || s.Samples != test.samples || s.Windows != 1 || len(v.notes) != test.notes || s.Until.Sub(s.From) != time.Hour {
			t.Errorf("%v: %+v, %v, notes %q", test.types, s, err, v.notes)
		}
		if calls := len(f.requests); calls > 0 {
			if _, err := v.Samples(test.query); err != nil || len(f.requests) > calls+1 {
				t.Errorf("%v: %d calls after %d: %v", test.types, len(f.requests), calls, err)
			}
		}
	}
	v := viewOf(t, &fake{})
	if s, err := v.Samples(store.Query{Kind: exporter.KindCPU, Stacks: true}); err != nil || s.Windows != 0 || s.SampleType != "cpu" {
		t.Errorf("no types: %+v, %v", s, err)
	}
}

// A profile for download has one column.
func TestPprofOfAView(t *testing.T) {
	f := &fake{types: []string{cpuType}, answers: map[string]string{"SelectMergeStacktraces proto": mergedAnswer(t, 5, 7)}}
	v := viewOf(t, f)
	s, err := v.Samples(store.Query{Kind: exporter.KindCPU, Pprof: true, From: time.Unix(100, 0), Until: time.Unix(160, 0)})
	if err != nil || len(s.Profile.Sample) != 2 || s.Profile.TimeNanos != 100e9 || s.Profile.DurationNanos != 60e9 {
		t.Errorf("got %+v, %v", s, err)
	}
	f.answers = nil
	if s, err = viewOf(t, f).Samples(store.Query{Kind: exporter.KindCPU, Pprof: true}); err != nil || len(s.Profile.Sample) != 0 || s.Profile.SampleType[0].Type != "cpu" {
		t.Errorf("no samples: got %+v, %v", s, err)
	}
}

// A query without a kind has the kinds that meet its conditions.
func TestKindsOfAView(t *testing.T) {
	const id = "00000000000000aa"
	for _, test := range []struct {
		matchers []string // label, operator, value
		want     string
		requests []string // a part of each
	}{
		{nil, "cpu heap wall", []string{"Series"}},
		{[]string{"service_name", "=", "shop"}, "cpu heap wall", []string{"Series"}},
		{[]string{"service_name", "=", "cart"}, "", []string{"Series"}},
		{[]string{"service_name", "=", "shop", "span_name", "=", "a"}, "cpu heap wall", []string{"Series", `"matchers":["{service_name=\"shop\",span_name=\"a\"}"]`}},
		{[]string{"span_id", "=", id}, "cpu", []string{"Series", cpuType, wallType}},
		{[]string{"span_id", "=", "none"}, "", nil},
	} {
		f := &fake{types: []string{cpuType, wallType, heapType}}
		v := viewOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			f.answers = map[string]string{"SelectMergeStacktraces": `{"flamegraph":{"total":"0"}}`}
			if len(f.requests) == 1 { // the request for CPU time
				f.answers = map[string]string{"SelectMergeStacktraces": `{"flamegraph":{"total":"7"}}`}
			}
			f.ServeHTTP(w, r)
		}))
		s, err := v.Samples(store.Query{Matchers: matchers(t, test.matchers)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, sum := range s.Sums {
			got = append(got, string(sum.Kind))
		}
		if strings.Join(got, " ") != test.want || !slices.EqualFunc(f.requests, test.requests, strings.Contains) {
			t.Errorf("%q: kinds %q, requests %q, want %q and %q", test.matchers, got, f.requests, test.want, test.requests)
		}
	}
}

// Names have their CPU time, the greatest first.
func TestNameTotals(t *testing.T) {
	f := &fake{types: []string{wallType, cpuType}}
	v := viewOf(t, f)
	series := func(service, name string, at time.Time, value int) string {
		return fmt.Sprintf(`{"labels":[{"name":"service_name","value":%q},{"name":"span_name","value":%q}],"points":[{"timestamp":"%d","value":%d},{"timestamp":"%d","value":900}]}`, service, name, at.UnixMilli(), value, v.from.UnixMilli())
	}
	f.answers = map[string]string{"SelectSeries": `{"series":[` + strings.Join([]string{series("shop", "b", v.until, 5), series("shop", "a", v.until, 5), series("cart", "a", v.until, 5), series("shop", "", v.until, 8), series("shop", "c", v.until, 7)}, ",") + `]}`}
	list, err := v.Spans(store.SpanQuery{Names: true})
	var got []string
	for _, n := range list.Names {
		got = append(got, fmt.Sprint(n.Service, " ", n.Name, " ", n.Label, " ", int64(n.CPU), " ", n.CPUSamples))
	}
	if want := []string{"shop c c 7 1", "cart a a 5 1", "shop a a 5 1", "shop b b 5 1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if len(f.requests) != 2 || !strings.Contains(f.requests[1], `"profileTypeID":"`+cpuType) || !strings.Contains(f.requests[1], `"step":3600.001`) || len(v.notes) != 0 {
		t.Errorf("requests %q, notes %q", f.requests, v.notes)
	}
	f = &fake{types: []string{wallType}}
	if list, err = viewOf(t, f).Spans(store.SpanQuery{Names: true}); err != nil || list.Names != nil || len(f.requests) != 1 {
		t.Errorf("without CPU: got %v, %v, requests %q", list.Names, err, f.requests)
	}
	f = &fake{types: []string{cpuType}, answers: map[string]string{"SelectSeries": `{"series":[` + strings.Join(slices.Repeat([]string{"{}"}, maxNames), ",") + `]}`}}
	v = viewOf(t, f)
	if _, err := v.Spans(store.SpanQuery{Names: true}); err != nil || len(v.notes) != 1 {
		t.Errorf("%v, notes %q", err, v.notes)
	}
}

// Spans are listed by CPU time.
func TestSpanList(t *testing.T) {
	exemplar := func(id, trace string, ms, value int) string {
		return fmt.Sprintf(`{"timestamp":"%d","spanId":%q,"traceId":%q,"value":"%d"}`, ms, id, trace, value)
	}
	answer := `{"series":[{"labels":[{"name":"service_name","value":"shop"},{"name":"span_name","value":"GET /"}],"slots":[{"counts":[9],"exemplars":[` +
		strings.Join([]string{exemplar("aa", "t1", 2000, 5), exemplar("bb", "t2", 3000, 9), exemplar("aa", "t1", 1000, 6), exemplar("cc", "T1", 4000, 1)}, ",") + `]}]}]}`
	for _, test := range []struct {
		types []string
		query store.SpanQuery
		want  string
	}{
		{[]string{cpuType, wallType}, store.SpanQuery{Order: store.MostCPU}, "aa 11 1000; bb 9 3000; cc 1 4000"},
		{[]string{cpuType}, store.SpanQuery{Order: store.Newest}, "cc 1 4000; bb 9 3000; aa 11 1000"},
		{[]string{cpuType}, store.SpanQuery{Order: store.MostCPU, Limit: 2}, "aa 11 1000; bb 9 3000"},
		{[]string{cpuType}, store.SpanQuery{Order: store.MostCPU, TraceID: "t1"}, "aa 11 1000; cc 1 4000"},
		{[]string{wallType, heapType}, store.SpanQuery{}, ""},
		{[]string{cpuType}, store.SpanQuery{OnlyErrors: true}, ""},
	} {
		f := &fake{types: test.types, answers: map[string]string{"SelectHeatmap": answer}}
		v := viewOf(t, f)
		list, err := v.Spans(test.query)
		var got []string
		for _, s := range list.Spans {
			got = append(got, fmt.Sprint(s.ProfileID, " ", int64(s.CPU), " ", s.Start.UnixMilli()))
			if s.Name != "GET /" || s.Service != "shop" || s.SamplesHeld != 1 || s.CPU != s.CPUInclusive {
				t.Errorf("%+v", s)
			}
		}
		if text := strings.Join(got, "; "); err != nil || text != test.want {
			t.Errorf("%+v of %q: got %s, %v, want %s", test.query, test.types, text, err, test.want)
		}
		if note := strings.Join(v.notes, ""); test.want != "" && !strings.Contains(note, "4 of 9") || test.want == "" && test.types[0] == cpuType && !strings.Contains(note, "no span meets these conditions") {
			t.Errorf("%+v: notes %q", test.query, v.notes)
		}
	}
	f := &fake{types: []string{cpuType}}
	if _, err := viewOf(t, f).Spans(store.SpanQuery{Service: "shop", Name: `a"b`, Contains: "x.y"}); err != nil || !strings.Contains(f.requests[1], `{service_name=\"shop\",span_name=\"a\\\"b\",span_name=~\"(?i).*x\\\\.y.*\"}`) {
		t.Errorf("%v, requests %q", err, f.requests)
	}
}
