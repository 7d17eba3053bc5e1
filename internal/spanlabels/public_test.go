// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build spanprof_public

package spanlabels

import (
	"context"
	"testing"
	"unsafe"
)

// Ids outlive the span in attributes and on goroutines, and must not hold its context.
func TestIDsAreCopies(t *testing.T) {
	b := Start(context.Background(), nil, &Values{Span: [8]byte{1}, SpanID: true})
	defer b.End()
	for name, id := range map[string]string{"id": b.ID(), "label": valueIn(b.labels(), keySpan)} {
		if len(id) != spanDigits || unsafe.StringData(id) == &b.hex[0] {
			t.Errorf("the %s %q is in the block", name, id)
		}
	}
}
