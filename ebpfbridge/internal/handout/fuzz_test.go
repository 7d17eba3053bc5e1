// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// FuzzPart has messages that no agent sends. What is handed out has the process's own
// resources alone, and is its own part once more.
func FuzzPart(f *testing.F) {
	seed, err := proto.Marshal(secrets([]uint64{2, 3}, 1, 2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, int64(1), uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, pid int64, started uint64) {
		m := new(collectorpb.ExportProfilesServiceRequest)
		if proto.Unmarshal(b, m) != nil {
			return
		}
		own, samples, err := part(m, pid, started)
		if err != nil || own == nil {
			return
		}
		for _, r := range own.GetResourceProfiles() {
			if of, err := ProcessID(own.GetDictionary(), r.GetResource()); err != nil || of != pid {
				t.Fatalf("a resource of process %d, %v, want %d", of, err, pid)
			}
		}
		again, n, err := part(own, pid, started)
		if err != nil || n != samples || !proto.Equal(own, again) {
			t.Fatalf("%d samples, then %d, %v:\n%v\n%v", samples, n, err, own, again)
		}
	})
}
