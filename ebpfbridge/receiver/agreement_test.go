// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// seconds is CPU time by samples.
type seconds struct {
	n   int64
	cpu float64
}

// sigma is the standard deviation of cpu if samples were taken at random.
func (s seconds) sigma() float64 { return s.cpu / math.Sqrt(float64(max(s.n, 1))) }

// kernelTime is CPU time of spans as the kernel counts it, in seconds.
type kernelTime struct {
	all float64
	// silent is the CPU time of spans without an agent sample, where many in a row should
	// have had some. atEdges is the CPU time of the spans just before and after these.
	silent, atEdges float64
}

// silence is the CPU time that an agent cannot miss by chance: 100 samples at 397 a second.
const silence = 250 * time.Millisecond

// cpu returns the CPU time of the spans of the load by name. times are the times of the
// agent's samples, by thread.
func (t truth) cpu(times map[int64][]int64) map[string]kernelTime {
	var spans []slice
	for _, s := range t {
		if s.Span != "" && s.Name != warmUp {
			spans = append(spans, s)
		}
	}
	silent := func(s slice) bool {
		return !slices.ContainsFunc(times[s.Thread], func(at int64) bool { return s.From <= at && at <= s.Until })
	}
	sums := map[string]kernelTime{}
	add := func(list []slice, to func(*kernelTime) *float64) {
		for _, s := range list {
			sum := sums[s.Name]
			*to(&sum) += s.CPU.Seconds()
			sums[s.Name] = sum
		}
	}
	add(spans, func(k *kernelTime) *float64 { return &k.all })
	for from := 0; from < len(spans); from++ {
		until, cpu := from, time.Duration(0)
		for ; until < len(spans) && silent(spans[until]); until++ {
			cpu += spans[until].CPU
		}
		if cpu >= silence {
			add(spans[from:until], func(k *kernelTime) *float64 { return &k.silent })
			add(spans[max(from-1, 0):from], func(k *kernelTime) *float64 { return &k.atEdges })
			add(spans[until:min(until+1, len(spans))], func(k *kernelTime) *float64 { return &k.atEdges })
		}
		from = until
	}
	return sums
}

// measured is the CPU time of the spans of one name: by the kernel, by the agent's samples
// in the receiver, and by Go's own profiler.
type measured struct {
	kernel          kernelTime
	host, inProcess seconds
}

func (m measured) sigma() float64 { return math.Hypot(m.host.sigma(), m.inProcess.sigma()) }

// verdict returns what is missing for a result, or an error where the host's profile and
// Go's own disagree. CPU time that the agent or Go's profiler lost on a busy machine, by
// the kernel's count, is no disagreement. Up to 5 sigma they may differ by chance: a longer
// run is needed.
func (m measured) verdict() (missing string, err error) {
	lost := m.kernel.all - m.host.cpu
	switch {
	case m.host.n >= 1000 && m.inProcess.n >= 1000 && math.Abs(m.host.cpu-m.inProcess.cpu) <= 3*m.sigma():
		return "", nil
	case m.kernel.silent > 0 && lost >= m.kernel.silent-3*m.host.sigma() && lost <= m.kernel.silent+m.kernel.atEdges+3*m.host.sigma():
		return fmt.Sprintf("the agent has sent nothing of %.3f s of CPU time", m.kernel.silent), nil
	case m.kernel.silent == 0 && math.Abs(lost) <= 3*m.host.sigma() && math.Abs(m.inProcess.cpu-m.kernel.all) > 3*m.inProcess.sigma():
		return fmt.Sprintf("Go's own profiler has %.3f s of %.3f s", m.inProcess.cpu, m.kernel.all), nil
	case math.Abs(m.host.cpu-m.inProcess.cpu) <= 3*m.sigma():
		return "1000 samples a side", nil
	case math.Abs(m.host.cpu-m.inProcess.cpu) <= 5*m.sigma():
		return "agreement within 3 sigma", nil
	}
	return "", errors.New("want agreement within 3 sigma")
}

func TestVerdict(t *testing.T) {
	ofHost := func(cpu float64) seconds { return seconds{int64(cpu * 397), cpu} }
	ofGo := func(cpu float64) seconds { return seconds{int64(cpu * 100), cpu} }
	for name, test := range map[string]struct {
		measured
		missing string
		wrong   bool
	}{
		"agreement":                     {measured{kernelTime{all: 12}, ofHost(11.9), ofGo(11.5)}, "", false},
		"by chance":                     {measured{kernelTime{all: 12}, ofHost(12.5), ofGo(11.05)}, "agreement within 3 sigma", false},
		"too short":                     {measured{kernelTime{all: 6}, ofHost(6), ofGo(6)}, "1000 samples a side", false},
		"the receiver has lost most":    {measured{kernelTime{all: 12}, ofHost(2), ofGo(12)}, "", true},
		"the receiver has counted more": {measured{kernelTime{all: 12}, ofHost(24), ofGo(12)}, "", true},
		"the agent was silent":          {measured{kernelTime{12, 9.9, 0.2}, ofHost(2), ofGo(12)}, "the agent has sent nothing of 9.900 s of CPU time", false},
		"silence explains a part":       {measured{kernelTime{12, 1, 0.2}, ofHost(2), ofGo(12)}, "", true},
		"Go's profiler has lost":        {measured{kernelTime{all: 24}, ofHost(23.9), ofGo(18)}, "Go's own profiler has 18.000 s of 24.000 s", false},
		"both have lost":                {measured{kernelTime{all: 24}, ofHost(12), ofGo(18)}, "", true},
	} {
		missing, err := test.verdict()
		if missing != test.missing || (err != nil) != test.wrong {
			t.Errorf("%s: missing %q, error %v; want %q, %t", name, missing, err, test.missing, test.wrong)
		}
	}
}

func TestSilence(t *testing.T) {
	// Ten spans of 100 ms, of 80 ms CPU time each.
	var list truth
	for i := range int64(10) {
		s := slice{Thread: 7, Span: "00f067aa0ba902b7", Name: "a", From: i * 100, Start: i * 100, End: i*100 + 99, Until: i*100 + 99, CPU: 80 * time.Millisecond}
		list = append(list, s)
	}
	list = append(truth{{Thread: 7, Span: "00f067aa0ba902b7", Name: warmUp, From: -100, Until: -1, CPU: time.Second}}, list...)
	for name, test := range map[string]struct {
		sampled []int64
		want    kernelTime
	}{
		"each has samples": {[]int64{0, 100, 200, 350, 499, 500, 600, 700, 801, 950}, kernelTime{all: 0.8}},
		"three have none":  {[]int64{0, 100, 500, 600, 700, 800, 900}, kernelTime{all: 0.8}},
		"four have none":   {[]int64{0, 500, 600, 700, 800, 900}, kernelTime{all: 0.8, silent: 0.32, atEdges: 0.16}},
		"the first five":   {[]int64{500, 600, 700, 800, 900}, kernelTime{all: 0.8, silent: 0.4, atEdges: 0.08}},
		"all":              {nil, kernelTime{all: 0.8, silent: 0.8}},
	} {
		got := list.cpu(map[int64][]int64{7: test.sampled, 8: {150, 250}})["a"]
		for _, pair := range [][2]float64{{got.all, test.want.all}, {got.silent, test.want.silent}, {got.atEdges, test.want.atEdges}} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Errorf("%s: got %+v, want %+v", name, got, test.want)
				break
			}
		}
	}
}
