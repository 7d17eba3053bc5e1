// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package receiver

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/livetest"
)

// TestLiveAgrees compares the CPU time of spans by the agent and by Go's own profiler.
func TestLiveAgrees(t *testing.T) {
	l := startLive(t)
	// Go takes 100 samples a second; half of them are of each of two names.
	livetest.Doubling(t, 24*time.Second, func(cpu time.Duration) string {
		file := filepath.Join(t.TempDir(), "cpu.pprof")
		truth, got := l.run(t, cpu, "-load", "json", "-cpuprofile", file)
		sum, r, exported := truth.compare(t, got, WithTimelines(timelines{truth}))
		t.Logf("%v; %+v", sum, r.Status())
		if sum.wrong > 0 {
			t.Errorf("%d samples on the wrong span, want 0", sum.wrong)
		}
		host := map[string]seconds{}
		for s := range ofSpans(t, exported) {
			host[s.Label[labelkey.SpanName][0]] = host[s.Label[labelkey.SpanName][0]].plus(s)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := profile.ParseData(b)
		if err != nil {
			t.Fatal(err)
		}
		inProcess := map[string]seconds{}
		for _, s := range parsed.Sample {
			if name := s.Label[labelkey.SpanName]; len(name) > 0 {
				inProcess[name[0]] = inProcess[name[0]].plus(s)
			}
		}
		again := ""
		for name, kernel := range truth.cpu(sum.times) {
			m := measured{kernel, host[name], inProcess[name]}
			t.Logf("%-60s %v", name, m)
			switch missing, err := m.verdict(); {
			case err != nil:
				t.Errorf("%s: %v", name, err)
			case missing != "":
				again = name + ": " + missing
			}
		}
		return again
	})
}

func (s seconds) plus(sample *profile.Sample) seconds {
	return seconds{s.n + sample.Value[0], s.cpu + float64(sample.Value[1])/1e9}
}

func (m measured) String() string {
	return fmt.Sprintf("host %.3f s (%d samples), in process %.3f s (%d samples): %+.2f sigma; %.3f s by the kernel, of which the agent was silent for %.3f s",
		m.host.cpu, m.host.n, m.inProcess.cpu, m.inProcess.n, (m.host.cpu-m.inProcess.cpu)/m.sigma(), m.kernel.all, m.kernel.silent)
}
