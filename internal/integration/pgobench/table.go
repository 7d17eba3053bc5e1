// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// show prints the CPU seconds of each layer and build, and by how much they differ from
// those of the plain one. Rounds are pairs: what the machine had besides went to both.
func (b *bench) show(w io.Writer, builds []string) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintf(t, "\nCPU seconds for a million spans, %d rounds\nlayer\tdefault.pgo\tmean\tleast\tmost\tdeviation\tagainst none, 95 %% interval\n", b.rounds)
	names := map[string]string{plain: "none", own: "its own", other: "the other layer's"}
	for _, l := range b.layers {
		for _, build := range builds {
			cpu := l.cpu[build]
			mean, deviation := moments(cpu)
			_, _ = fmt.Fprintf(t, "%s\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%s\n",
				l.name, names[build], mean, slices.Min(cpu), slices.Max(cpu), deviation, against(cpu, l.cpu[plain]))
		}
	}
	return t.Flush()
}

// against says by how much cpu differs from base, of the same rounds, by the geometric mean
// of their ratios.
func against(cpu, base []float64) string {
	ratios := make([]float64, len(cpu))
	for i := range cpu {
		ratios[i] = math.Log(cpu[i] / base[i])
	}
	mean, deviation := moments(ratios)
	if deviation == 0 { // of one round, or of base itself
		return fmt.Sprintf("%+.1f %%", percent(mean))
	}
	half := t975[len(ratios)-2] * deviation / math.Sqrt(float64(len(ratios)))
	return fmt.Sprintf("%+.1f %% (%+.1f to %+.1f)", percent(mean), percent(mean-half), percent(mean+half))
}

func percent(logRatio float64) float64 { return 100 * math.Expm1(logRatio) }

// maxRounds is as far as t975 goes.
const maxRounds = len(t975) + 1

// t975 is Student's t for 95 % on both sides, from one degree of freedom on.
var t975 = [...]float64{12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13}

// moments returns the mean of values and their standard deviation.
func moments(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(deviation / max(1, float64(len(values)-1)))
}
