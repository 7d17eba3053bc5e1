// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"errors"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// An unexpected runtime is reported. The build tag is the program's choice.
func TestReportRuntime(t *testing.T) {
	unexpected := errors.New("labels are kept as map[string]string")
	before := otel.GetErrorHandler()
	defer otel.SetErrorHandler(before)
	for _, test := range []struct{ err, want error }{{nil, nil}, {goruntime.ErrPublic, nil}, {unexpected, unexpected}} {
		var got error
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { got = err }))
		reportRuntime(test.err)
		if !errors.Is(got, test.want) {
			t.Errorf("%v: reported %v, want %v", test.err, got, test.want)
		}
	}
}
