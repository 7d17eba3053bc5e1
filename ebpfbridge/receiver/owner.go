// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"encoding/hex"
	"strings"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/ebpfbridge/internal/handout"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// owner finds this process among the processes of the host.
type owner struct {
	pid int64 // the agent's id of this process, 0 before its first sample
}

// own returns this process's part of a message, or nil. These are the resources with
// samples of its spans. Without any, it is the resource with the process id of earlier ones.
func (o *owner) own(m *collectorpb.ExportProfilesServiceRequest, lookup Lookup) *collectorpb.ExportProfilesServiceRequest {
	d := m.GetDictionary()
	refs := referencesIn(d, lookup)
	var own, before []*profilespb.ResourceProfiles
	for _, r := range m.GetResourceProfiles() {
		switch pid, _ := handout.ProcessID(d, r.GetResource()); {
		case refs.in(r):
			o.pid = pid
			own = append(own, r)
		case pid != 0 && pid == o.pid:
			before = append(before, r)
		}
	}
	if own == nil {
		own = before
	}
	if own == nil {
		return nil
	}
	return &collectorpb.ExportProfilesServiceRequest{ResourceProfiles: own, Dictionary: m.GetDictionary()}
}

// references are the attributes and Links of a message by which samples refer to
// spans of this process.
type references struct {
	attributes, links map[int32]bool
}

func (refs references) in(r *profilespb.ResourceProfiles) bool {
	for _, scope := range r.GetScopeProfiles() {
		for _, p := range scope.GetProfiles() {
			for _, s := range p.GetSamples() {
				if refs.links[s.GetLinkIndex()] {
					return true
				}
				for _, a := range s.GetAttributeIndices() {
					if refs.attributes[a] {
						return true
					}
				}
			}
		}
	}
	return false
}

func referencesIn(d *profilespb.ProfilesDictionary, lookup Lookup) references {
	refs := references{map[int32]bool{}, map[int32]bool{}}
	for i, a := range d.GetAttributeTable() {
		switch label(handout.Text(d, a.GetKeyStrindex())) {
		case labelkey.SpanID, labelkey.ProfileID:
			if _, ok := lookup.own(text(d, a.GetValue())); ok {
				refs.attributes[int32(i)] = true
			}
		}
	}
	for i, l := range d.GetLinkTable() {
		if id := l.GetSpanId(); i > 0 && len(id) == 8 {
			_, refs.links[int32(i)] = lookup.own(hex.EncodeToString(id))
		}
	}
	return refs
}

// text returns the text of a value, or "".
func text(d *profilespb.ProfilesDictionary, v *commonpb.AnyValue) string {
	if v, ok := v.GetValue().(*commonpb.AnyValue_StringValueStrindex); ok {
		return handout.Text(d, v.StringValueStrindex)
	}
	return v.GetStringValue()
}

// label returns the name that a label has in Go. The stock agent sends it with a
// prefix, which is not settled (open-telemetry/semantic-conventions#2561): ids are
// found without it too.
func label(attribute string) string {
	return strings.TrimPrefix(attribute, labelPrefix)
}

const labelPrefix = "process.context.label."
