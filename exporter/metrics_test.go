// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/metertest"
)

// The counters have the account of a queue.
func TestMetrics(t *testing.T) {
	sums := metertest.New(t)
	attempts := 0
	q := newQueue(t, &destination{answer: func(_ context.Context, id string) (bool, error) {
		switch attempts++; {
		case attempts == 1:
			return true, retry(exporter.RetryError{})
		case id == "bad":
			return false, errors.New("400")
		}
		return true, nil
	}}, exporter.QueueConfig{})
	export(t, q, "a", "b", "bad")
	if err := q.Shutdown(t.Context()); err == nil {
		t.Error("Shutdown: want the loss")
	}
	_ = q.Export(t.Context(), exporter.NewProfile(exporter.Window{}, nil))
	want := map[string]float64{
		"exported otel.component.type=test":                2,
		"retries otel.component.type=test":                 1,
		"duplicates otel.component.type=test":              1,
		"dropped otel.component.type=test,reason=rejected": 1,
		"dropped otel.component.type=test,reason=unsent":   1,
	}
	if diff := cmp.Diff(want, sums.Of("spanprof.exporter.profile.")); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
}
