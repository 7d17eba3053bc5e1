// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"errors"
	"fmt"
	"strings"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// check returns all faults of a message by OTLP's profiles signal (v1development), or nil. Stricter
// rules of this project: no duplicate and no unused elements, and keys inline.
func check(m *collectorpb.ExportProfilesServiceRequest) error {
	if m.GetDictionary() == nil {
		return errors.New("no dictionary")
	}
	c := &checker{used: map[string][]bool{}}
	if _, err := proto.Marshal(m); err != nil {
		c.failf("%v", err) // text that is not UTF-8
	}
	d := m.GetDictionary().ProtoReflect()
	for fields, i := d.Descriptor().Fields(), 0; i < fields.Len(); i++ {
		c.table(string(fields.Get(i).Name()), d.Get(fields.Get(i)).List())
	}
	c.walk("request", m.ProtoReflect())
	for name, used := range c.used {
		for i := 1; i < len(used); i++ { // the zero value needs no reference
			if !used[i] {
				c.failf("%s[%d]: unused", name, i)
			}
		}
	}
	return errors.Join(c.errs...)
}

type checker struct {
	used map[string][]bool // elements by table
	errs []error
}

func (c *checker) failf(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// table requires the zero value first, and each element once.
func (c *checker) table(name string, all protoreflect.List) {
	c.used[name] = make([]bool, all.Len())
	seen := map[string]int{}
	for i := range all.Len() {
		key := all.Get(i).String()
		if m, ok := all.Get(i).Interface().(protoreflect.Message); ok {
			b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m.Interface())
			key = string(b)
		}
		if first, ok := seen[key]; ok {
			c.failf("%s[%d]: equals element %d", name, i, first)
		}
		seen[key] = i
	}
	if first, ok := seen[""]; !ok || first != 0 {
		c.failf("%s[0]: not the zero value", name)
	}
}

// walk checks a message and those in it. Names of fields that are indices have the name of
// their table.
func (c *checker) walk(path string, m protoreflect.Message) {
	c.rules(path, m.Interface())
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		at := path + "." + string(f.Name())
		each := func(v protoreflect.Value) {
			if f.Message() != nil {
				c.walk(at, v.Message())
			} else if table := tableOf(string(f.Name())); table != "" {
				if i := v.Int(); i < 0 || int(i) >= len(c.used[table]) {
					c.failf("%s: %s[%d] of %d", at, table, i, len(c.used[table]))
				} else {
					c.used[table][i] = true
				}
			}
		}
		if f.IsList() {
			for i := range v.List().Len() {
				each(v.List().Get(i))
			}
		} else {
			each(v)
		}
		return true
	})
}

func tableOf(field string) string {
	for _, suffix := range []string{"strindex", "index", "indices"} {
		if prefix, ok := strings.CutSuffix(field, "_"+suffix); ok && suffix == "strindex" {
			return "string_table"
		} else if ok {
			return prefix + "_table"
		}
	}
	return ""
}

// rules checks a single message.
func (c *checker) rules(path string, m proto.Message) {
	bad := false
	switch m := m.(type) {
	case *commonpb.KeyValue:
		bad = m.GetKey() == "" || m.GetKeyStrindex() != 0 // Pyroscope and Parca do not read indices here
	case *commonpb.InstrumentationScope:
		bad = m.GetName() == ""
	case *profilespb.Profile: // Backends derive the profile's name from both types.
		bad = m.GetSampleType().GetTypeStrindex() == 0 || m.GetPeriodType().GetTypeStrindex() == 0
	case *profilespb.Sample:
		bad = len(m.GetValues()) != 1 || len(m.GetTimestampsUnixNano()) != 0
	case *profilespb.Link:
		bad = proto.Size(m) > 0 && (len(m.GetTraceId()) != 16 || len(m.GetSpanId()) != 8)
	case *profilespb.KeyValueAndUnit:
		bad = (m.GetValue() == nil) != (m.GetKeyStrindex() == 0)
	}
	if bad {
		c.failf("%s: bad %v", path, m)
	}
}
