// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const ms = 1_000_000

func TestDivide(t *testing.T) {
	for name, tt := range map[string]struct {
		of   measured
		want *Answer
	}{
		"a starved span": {
			measured{Duration: 5980 * ms, States: []State{
				{"running", 5810 * ms, 20 * ms, byWall}, {"mutex", 170 * ms, 20 * ms, byWall}, {onCPU, 300 * ms, 30 * ms, byCPU},
			}, Samples: map[string]int64{byWall: 598, byCPU: 30}, Complete: true, Rest: notSampled, Waited: true},
			&Answer{States: []State{{ready, 5510 * ms, 20 * ms, byWall}, {onCPU, 300 * ms, 30 * ms, byCPU}, {"mutex", 170 * ms, 20 * ms, byWall}}},
		},
		"CPU time is unknown in a part": {
			measured{Duration: 100 * ms, States: []State{{"running", 100 * ms, ms, byWall}, {onCPU, 50 * ms, ms, byCPU}}, Samples: map[string]int64{byWall: 10, byCPU: 5}},
			&Answer{States: []State{{onCPU, 100 * ms, ms, byWall}}},
		},
		"two samples": {
			measured{Duration: 68 * ms, States: []State{{"network", 40 * ms, 50 * ms, byWall}, {"GC", 38 * ms, 50 * ms, byWall}}, Samples: map[string]int64{byWall: 2}, Complete: true, Rest: notSampled},
			&Answer{States: []State{}, Few: "2 samples: network, GC: too few to divide"},
		},
		"few wall samples beside enough of CPU": {
			measured{Duration: 300 * ms, States: []State{{"network", 100 * ms, 80 * ms, byWall}, {onCPU, 200 * ms, 20 * ms, byCPU}}, Samples: map[string]int64{byWall: 1, byCPU: 20}, Complete: true, Rest: notOnCPU},
			&Answer{States: []State{{onCPU, 200 * ms, 20 * ms, byCPU}, {notOnCPU, 100 * ms, 0, ""}}, Few: "1 sample: network: too few to divide"},
		},
		"chance beyond the duration": {
			measured{Duration: 100 * ms, States: []State{{"sleep", 110 * ms, 10 * ms, byWall}}, Samples: map[string]int64{byWall: 11}, Complete: true, Rest: notSampled},
			&Answer{States: []State{{"sleep", 100 * ms, 10 * ms, byWall}}},
		},
		"CPU time beside waits of another goroutine": {
			measured{Duration: 250 * ms, States: []State{{"running", 170 * ms, 30 * ms, byWall}, {"network", 80 * ms, 5 * ms, byWall}, {onCPU, 240 * ms, 20 * ms, byCPU}}, Samples: map[string]int64{byWall: 25, byCPU: 24}, Complete: true, Rest: notSampled, Waited: true},
			&Answer{States: []State{{onCPU, 240 * ms, 20 * ms, byCPU}, {"network", 10 * ms, 5 * ms, byWall}}, Note: "several goroutines worked for it at a time, 320 ms together: these are their shares of its duration"},
		},
		"two goroutines": {
			measured{Duration: 100 * ms, States: []State{{"sleep", 100 * ms, ms, byWall}, {"mutex", 300 * ms, ms, byWall}}, Samples: map[string]int64{byWall: 40}, Complete: true, Rest: notSampled},
			&Answer{States: []State{{"mutex", 75 * ms, ms, byWall}, {"sleep", 25 * ms, ms, byWall}}, Note: "several goroutines worked for it at a time, 400 ms together: these are their shares of its duration"},
		},
		"exact times": {
			measured{Duration: 100 * ms, States: []State{{"sleep", 90 * ms, ms, byWall}, {"sleep", 80 * ms, 0, byTrace}, {ready, 15 * ms, 0, byTrace}}, Samples: map[string]int64{byWall: 9}, Complete: true, Rest: notSampled},
			&Answer{States: []State{{"sleep", 80 * ms, 0, byTrace}, {ready, 15 * ms, 0, byTrace}, {notSampled, 5 * ms, 0, ""}}, Sampled: []State{{"sleep", 90 * ms, ms, byWall}}},
		},
		"few samples beside exact times": {
			measured{Duration: 100 * ms, States: []State{{"sleep", 90 * ms, 60 * ms, byWall}, {"sleep", 100 * ms, 0, byTrace}}, Samples: map[string]int64{byWall: 2}, Complete: true, Rest: notSampled},
			&Answer{States: []State{{"sleep", 100 * ms, 0, byTrace}}},
		},
		"exact times on a thread without a CPU": {
			measured{Duration: 600 * ms, States: []State{{onCPU, 400 * ms, 0, byTrace}, {"sleep", 200 * ms, 0, byTrace}, {onCPU, 100 * ms, 30 * ms, byCPU}}, Samples: map[string]int64{byCPU: 10}, Complete: true, Rest: notSampled, Waited: true},
			&Answer{
				States:  []State{{withheld, 300 * ms, 63245553, byTrace}, {"sleep", 200 * ms, 0, byTrace}, {onCPU, 100 * ms, 63245553, byTrace}},
				Sampled: []State{{onCPU, 100 * ms, 30 * ms, byCPU}},
			},
		},
		"exact times on a CPU, with fewer samples by chance": {
			measured{Duration: 40 * ms, States: []State{{onCPU, 40 * ms, 0, byTrace}, {onCPU, 10 * ms, 10 * ms, byCPU}}, Samples: map[string]int64{byCPU: 1}, Complete: true, Rest: notSampled, Waited: true},
			&Answer{States: []State{{onCPU, 40 * ms, 0, byTrace}}, Sampled: []State{{onCPU, 10 * ms, 10 * ms, byCPU}}},
		},
		"exact times beside an incomplete CPU profile": {
			measured{Duration: 400 * ms, States: []State{{onCPU, 400 * ms, 0, byTrace}, {onCPU, 10 * ms, 10 * ms, byCPU}}, Samples: map[string]int64{byCPU: 1}, Complete: true, Rest: notSampled},
			&Answer{States: []State{{onCPU, 400 * ms, 0, byTrace}}, Sampled: []State{{onCPU, 10 * ms, 10 * ms, byCPU}}},
		},
		"samples to come": {
			measured{Duration: 100 * ms, States: []State{{onCPU, 50 * ms, ms, byCPU}}, Samples: map[string]int64{byCPU: 5}, Rest: notSampled},
			&Answer{States: []State{{onCPU, 50 * ms, ms, byCPU}}},
		},
		"nothing": {
			measured{Duration: 100 * ms, Complete: true, Rest: notSampled},
			&Answer{States: []State{{notSampled, 100 * ms, 0, ""}}},
		},
	} {
		if diff := cmp.Diff(tt.want, tt.of.divide()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSentence(t *testing.T) {
	starved := &Answer{States: []State{{ready, 5510 * ms, 0, byWall}, {onCPU, 300 * ms, 0, byCPU}, {"mutex", 170 * ms, 0, byWall}, {"GC", 5 * ms, 0, byWall}}}
	for _, tt := range []struct {
		a        *Answer
		duration int64
		running  bool
		top      string
		others   others
		want     string
	}{
		{starved, 5980 * ms, false, "61 % regexp.(*machine).step", others{4, 120 * ms, 100 * ms}, "5.98 s: 300 ms on a CPU (61 % regexp.(*machine).step), 5.51 s ready but without a CPU, 170 ms mutex. Others of this name: 120 ms at the median; the difference is the wait for a CPU."},
		{starved, 5980 * ms, true, "", others{}, "5.98 s so far: 300 ms on a CPU, 5.51 s ready but without a CPU, 170 ms mutex."},
		{starved, 5980 * ms, false, "", others{1, 5000 * ms, 0}, "5.98 s: 300 ms on a CPU, 5.51 s ready but without a CPU, 170 ms mutex. Others of this name: 5.00 s at the median."},
		{&Answer{States: []State{{onCPU, 900 * ms, 0, byCPU}}}, 1000 * ms, false, "", others{3, 100 * ms, 90 * ms}, "1.00 s: 900 ms on a CPU. Others of this name: 100 ms at the median; the difference is time on a CPU."},
		{&Answer{Few: "2 samples: network, GC: too few to divide"}, 68 * ms, false, "", others{}, "68.0 ms: 2 samples: network, GC: too few to divide."},
		{&Answer{}, 68 * ms, false, "", others{}, "68.0 ms: not sampled."},
	} {
		if got := tt.a.sentence(tt.duration, tt.running, tt.top, tt.others); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
