// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/metertest"
)

// The metrics have the account of a queue. Two queues of one name have metrics of their own.
func TestMetrics(t *testing.T) {
	sums := metertest.New(t)
	name := rand.Text() // which has no queue yet
	answering, answer := make(chan struct{}), make(chan struct{})
	attempts := 0
	d := &destination{answer: func(_ context.Context, id string) (bool, error) {
		switch attempts++; {
		case attempts == 1:
			close(answering)
			<-answer
			return true, retry(exporter.RetryError{})
		case id == "bad":
			return false, errors.New("400")
		}
		return true, nil
	}}
	other, _ := exporter.NewQueue(name, &destination{}, exporter.QueueConfig{})
	q, _ := exporter.NewQueue(name, d, exporter.QueueConfig{})
	export(t, other, "c")
	if err := other.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	check := func(want map[string]float64) {
		t.Helper()
		got := map[string]float64{}
		for key, n := range sums.Of("spanprof.exporter.") {
			key = strings.Replace(key, "otel.component.type="+name, "type", 1)
			got[strings.Replace(key, "otel.component.name="+name, "", 1)] = n
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sums (-want +got):\n%s", diff)
		}
	}
	export(t, q, "a", "b", "bad")
	<-answering
	check(map[string]float64{"queue.length /0,type": 0, "profile.exported /0,type": 1, "queue.length /1,type": 3})
	close(answer)
	if err := q.Shutdown(t.Context()); err == nil {
		t.Error("Shutdown: want the loss")
	}
	_ = q.Export(t.Context(), exporter.NewProfile(exporter.Window{}, nil))
	check(map[string]float64{
		"queue.length /0,type":                    0,
		"profile.exported /0,type":                1,
		"queue.length /1,type":                    0,
		"profile.exported /1,type":                2,
		"profile.retries /1,type":                 1,
		"profile.duplicates /1,type":              1,
		"profile.dropped /1,type,reason=rejected": 1,
		"profile.dropped /1,type,reason=unsent":   1,
	})
}
