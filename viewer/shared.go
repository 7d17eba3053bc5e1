// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// made is an answer, encoded once for all clients.
type made struct {
	response
	// status is what the answer tells of the profiler, nil for nothing. It is not in the
	// response: each client is told how the profiler is now.
	status *answer.Status
	// lasts says that the answer stays the same while spans run.
	lasts bool
}

// to returns the response to a client that asks when the profiler's status is now.
func (m *made) to(now *answer.Status) (response, error) {
	if m.status == nil {
		return m.response, nil
	}
	status, err := json.Marshal(m.status.Renewed(now))
	if err != nil {
		return response{}, fmt.Errorf("encode: %w", err)
	}
	resp := m.response
	// The other members follow: every answer has some. Clients share their bytes.
	resp.head = slices.Concat([]byte(`{"status":`), status, []byte(","))
	resp.body = resp.body[1:]
	return resp, nil
}
