// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"encoding/json"
	"testing"

	"github.com/spanprof/spanprof/store"
)

func TestProcessesThatAreNotToldApart(t *testing.T) {
	p := &store.Process{}
	if got, want := processText(p), "one of the earlier processes that are too many to tell apart"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if data, err := json.Marshal(p); err != nil || string(data) != "{}" {
		t.Errorf("got %s, %v", data, err)
	}
}
