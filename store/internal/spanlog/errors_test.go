// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"errors"
	"fmt"
	"net/url"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/spanprof/spanprof/store/internal/attributes"
)

// failure is what a span says of its error.
type failure struct {
	err          error
	status, kind string
}

// errorTypesOf returns how many types of errors some failures are.
func errorTypesOf(t *testing.T, failures ...failure) int {
	t.Helper()
	l := New(Config{MaxBytes: 4 << 20, Fraction: 1, PerName: 20, Keys: attributes.NewKeys(nil)})
	tracer := newTracer(l)
	for i, f := range failures {
		_, span := tracer.Start(t.Context(), "GET /", at(float64(i)))
		if f.err != nil {
			span.RecordError(f.err)
		}
		if f.kind != "" {
			span.SetAttributes(attribute.String("error.type", f.kind))
		}
		span.SetStatus(codes.Error, f.status)
		span.End(at(float64(i) + 0.5))
		profiled(l, i, cpuOf(1, keyOf(span)))
	}
	return len(l.errorTypes)
}

// Errors of one exception type are one type, whatever their texts. Types that Go gives any
// text are told apart by these.
func TestErrorTypes(t *testing.T) {
	urlError := func(host string) error { return &url.Error{Op: "Get", URL: host, Err: errors.New("refused")} }
	for name, tt := range map[string]struct {
		failures []failure
		want     int
	}{
		"one exception type":        {[]failure{{err: urlError("alice"), status: "of alice"}, {err: urlError("bob"), status: "of bob"}}, 1},
		"two exception types":       {[]failure{{err: urlError("a"), status: "failed"}, {err: &testError{}, status: "failed"}}, 2},
		"general type, two texts":   {[]failure{{err: errors.New("x"), status: "out of stock"}, {err: errors.New("x"), status: "no such cart"}}, 2},
		"general type, numbers":     {[]failure{{err: errors.New("x"), status: "cart 1 is empty"}, {err: fmt.Errorf("%w", errors.ErrUnsupported), status: "cart 2 is empty"}}, 1},
		"no status, two messages":   {[]failure{{err: errors.New("out of stock")}, {err: errors.New("no such cart")}}, 2},
		"no exception, two texts":   {[]failure{{status: "out of stock"}, {status: "no such cart"}}, 2},
		"no text, two kinds":        {[]failure{{kind: "timeout"}, {kind: "refused"}}, 2},
		"text wins over the kind":   {[]failure{{kind: "timeout", status: "no answer"}, {kind: "refused", status: "no answer"}}, 1},
		"nothing says anything":     {[]failure{{}, {}}, 1},
		"a text is no exception":    {[]failure{{err: &testError{}}, {status: "*github.com/spanprof/spanprof/store/internal/spanlog.testError"}}, 2},
		"equal words, other spaces": {[]failure{{status: "a b"}, {status: "ab"}}, 2},
	} {
		if got := errorTypesOf(t, tt.failures...); got != tt.want {
			t.Errorf("%s: %d types, want %d", name, got, tt.want)
		}
	}
}

type testError struct{}

func (*testError) Error() string { return "test" }
