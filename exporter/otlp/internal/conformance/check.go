// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"fmt"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// Check returns all faults of a message, or nil.
func Check(m *collectorpb.ExportProfilesServiceRequest) error {
	c := &checker{tables: m.GetDictionary()}
	if c.tables == nil {
		return errors.New("no dictionary")
	}
	if _, err := proto.Marshal(m); err != nil {
		c.failf("%v", err) // text that is not UTF-8
	}
	c.start()
	for i, r := range m.GetResourceProfiles() {
		c.keys(fmt.Sprintf("resource %d", i), r.GetResource().GetAttributes())
		for _, s := range r.GetScopeProfiles() {
			c.keys("scope", s.GetScope().GetAttributes())
			if s.GetScope().GetName() == "" {
				c.failf("scope without a name")
			}
			for n, p := range s.GetProfiles() {
				c.profile(fmt.Sprintf("profile %d", n), p)
			}
		}
	}
	c.followTables()
	c.unused()
	return errors.Join(c.errs...)
}

// checker records which elements of the tables are in use.
type checker struct {
	tables *profilespb.ProfilesDictionary
	errs   []error

	strings, attributes, functions, mappings, locations, stacks, links table
}

func (c *checker) failf(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// start checks the tables themselves.
func (c *checker) start() {
	t := c.tables
	c.strings = newTable(c, "string_table", t.GetStringTable(), func(s string) (string, bool) { return s, s == "" })
	c.attributes = newTable(c, "attribute_table", t.GetAttributeTable(), keyValueAndUnit)
	c.functions = newTable(c, "function_table", t.GetFunctionTable(), message)
	c.mappings = newTable(c, "mapping_table", t.GetMappingTable(), message)
	c.locations = newTable(c, "location_table", t.GetLocationTable(), message)
	c.stacks = newTable(c, "stack_table", t.GetStackTable(), message)
	c.links = newTable(c, "link_table", t.GetLinkTable(), message)
}

func (c *checker) profile(name string, p *profilespb.Profile) {
	c.valueType(name+": sample_type", p.GetSampleType())
	c.valueType(name+": period_type", p.GetPeriodType())
	if (p.GetOriginalPayloadFormat() == "") != (len(p.GetOriginalPayload()) == 0) {
		c.failf("%s: original_payload and its format are not set together", name)
	}
	if n := len(p.GetProfileId()); n != 0 && n != 16 {
		c.failf("%s: profile_id of %d bytes", name, n)
	}
	c.attributeList(name, p.GetAttributeIndices())
	valued, counted := false, false
	start, end := p.GetTimeUnixNano(), p.GetTimeUnixNano()+p.GetDurationNano()
	for i, s := range p.GetSamples() {
		name := fmt.Sprintf("%s: sample %d", name, i)
		c.stacks.use(name, s.GetStackIndex())
		c.links.use(name, s.GetLinkIndex())
		c.attributeList(name, s.GetAttributeIndices())
		// Either one value for all, or timestamps with a value each or without any.
		values, timestamps := len(s.GetValues()), len(s.GetTimestampsUnixNano())
		if (timestamps == 0 && values != 1) || (timestamps > 0 && values > 0 && values != timestamps) {
			c.failf("%s: %d values and %d timestamps", name, values, timestamps)
		}
		valued, counted = valued || timestamps > 0 && values > 0, counted || timestamps > 0 && values == 0
		for _, at := range s.GetTimestampsUnixNano() {
			// A profile without a length has no time range.
			if end > start && (at < start || at >= end) {
				c.failf("%s: a timestamp is %d, the profile lasts from %d to %d", name, at, start, end)
				break
			}
		}
	}
	if valued && counted {
		c.failf("%s: timestamps with and without values", name)
	}
}

// valueType requires a name: backends derive the profile's name from it.
func (c *checker) valueType(name string, t *profilespb.ValueType) {
	if t.GetTypeStrindex() == 0 {
		c.failf("%s: empty", name)
	}
	c.strings.use(name, t.GetTypeStrindex())
	c.strings.use(name, t.GetUnitStrindex())
}

// attributeList requires that every key occurs once.
func (c *checker) attributeList(name string, indices []int32) {
	seen := map[int32]bool{}
	for _, i := range indices {
		if i == 0 {
			c.failf("%s: attribute 0", name)
		}
		c.attributes.use(name, i)
		if i > 0 && int(i) < len(c.tables.GetAttributeTable()) {
			key := c.tables.GetAttributeTable()[i].GetKeyStrindex()
			if seen[key] {
				c.failf("%s: two attributes have key %d", name, key)
			}
			seen[key] = true
		}
	}
}

// keys requires inline keys, each once.
func (c *checker) keys(name string, kvs []*commonpb.KeyValue) {
	seen := map[string]bool{}
	for _, kv := range kvs {
		switch {
		case kv.GetKeyStrindex() != 0:
			c.failf("%s: a key is an index", name)
		case kv.GetKey() == "":
			c.failf("%s: empty key", name)
		case seen[kv.GetKey()]:
			c.failf("%s: %s twice", name, kv.GetKey())
		}
		seen[kv.GetKey()] = true
	}
}
