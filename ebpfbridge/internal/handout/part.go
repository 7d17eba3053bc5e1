// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"fmt"
	"slices"
	"strings"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// part returns one process's part of a message, with the number of samples, or nil. It drops
// samples older than started, in nanoseconds since 1970. The part has no unknown fields, and
// no elements of other processes. thread translates the ids of threads.
func part(m *collectorpb.ExportProfilesServiceRequest, pid int64, started uint64, thread func(int64) int64) (*collectorpb.ExportProfilesServiceRequest, int, error) {
	own := &collectorpb.ExportProfilesServiceRequest{Dictionary: &profilespb.ProfilesDictionary{}}
	c := copier{m.GetDictionary().ProtoReflect(), own.Dictionary.ProtoReflect(), map[place]int32{}, started, 0, thread, 0, nil}
	// The first element of each table means "not set".
	for _, name := range []protoreflect.Name{"mapping_table", "location_table", "function_table", "link_table", "string_table", "attribute_table", "stack_table"} {
		list := c.to.Mutable(c.to.Descriptor().Fields().ByName(name)).List()
		list.Append(list.NewElement())
	}
	for _, r := range m.GetResourceProfiles() {
		of, err := ProcessID(m.GetDictionary(), r.GetResource())
		if err != nil {
			return nil, 0, err
		}
		if of == pid {
			own.ResourceProfiles = append(own.ResourceProfiles, c.copy(r.ProtoReflect()).Interface().(*profilespb.ResourceProfiles))
		}
	}
	if c.err != nil || c.samples == 0 {
		return nil, 0, c.err
	}
	return own, c.samples, nil
}

const pidKey, threadKey = "process.pid", "thread.id"

// ProcessID returns the process id of a resource, 0 for none. Two of them are an error.
func ProcessID(d *profilespb.ProfilesDictionary, r *resourcepb.Resource) (pid int64, err error) {
	n := 0
	for _, kv := range r.GetAttributes() {
		if kv.GetKey() == pidKey || text(d, kv.GetKeyStrindex()) == pidKey {
			pid = kv.GetValue().GetIntValue()
			n++
		}
	}
	if n > 1 {
		return 0, fmt.Errorf("a resource has %d attributes %s", n, pidKey)
	}
	return pid, nil
}

// text returns a string of the table, or "" for an index out of range.
func text(d *profilespb.ProfilesDictionary, i int32) string {
	if t := d.GetStringTable(); i >= 0 && int(i) < len(t) {
		return t[i]
	}
	return ""
}

// copier copies messages, with the elements of the dictionary that they refer to. After an
// error, which it keeps, it continues with empty elements.
type copier struct {
	from, to protoreflect.Message // dictionaries
	places   map[place]int32      // in to, by those in from
	started  uint64
	time     uint64 // of the current profile
	thread   func(int64) int64
	samples  int
	err      error
}

// place is an element of a table.
type place struct {
	table protoreflect.Name
	index int32
}

// tableOf returns the table to which a field refers by index, "" for other fields.
func (c *copier) tableOf(field protoreflect.Name) protoreflect.Name {
	name, _, ok := strings.Cut(string(field)+" ", "_ind") // _index or _indices
	if strings.HasSuffix(string(field), "_strindex") || strings.HasSuffix(string(field), "_strindices") {
		name, ok = "string", true
	}
	if table := protoreflect.Name(name + "_table"); ok && c.to.Descriptor().Fields().ByName(table) != nil {
		return table
	}
	return ""
}

// copy returns a copy without unknown fields.
func (c *copier) copy(m protoreflect.Message) protoreflect.Message {
	own := m.New()
	if p, ok := m.Interface().(*profilespb.Profile); ok {
		c.time = p.GetTimeUnixNano()
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		table := c.tableOf(f.Name())
		switch {
		case strings.HasPrefix(string(f.Name()), "original_payload"): // It may have samples of the whole host.
		case table != "" && f.IsList():
			list := own.Mutable(f).List()
			for i := range v.List().Len() {
				list.Append(protoreflect.ValueOfInt32(c.place(table, int32(v.List().Get(i).Int()))))
			}
		case table != "":
			own.Set(f, protoreflect.ValueOfInt32(c.place(table, int32(v.Int()))))
		case f.Message() != nil && f.IsList():
			list := own.Mutable(f).List()
			for i := range v.List().Len() {
				if e := v.List().Get(i).Message(); c.wants(e) {
					list.Append(protoreflect.ValueOfMessage(c.copy(e)))
				}
			}
		case f.Message() != nil:
			own.Set(f, protoreflect.ValueOfMessage(c.copy(v.Message())))
		default:
			own.Set(f, v)
		}
		return true
	})
	return own
}

// wants counts samples. It returns false unless all of a sample was taken since the process
// started. Before, another process had the same id, and the labels may be from it.
func (c *copier) wants(m protoreflect.Message) bool {
	s, ok := m.Interface().(*profilespb.Sample)
	if !ok {
		return true
	}
	times := s.GetTimestampsUnixNano()
	if len(times) == 0 && c.time < c.started || len(times) > 0 && slices.Min(times) < c.started {
		return false
	}
	c.samples += max(1, len(times))
	return true
}

// place returns the new place of an element, which it copies the first time.
func (c *copier) place(table protoreflect.Name, i int32) int32 {
	if n, ok := c.places[place{table, i}]; ok || i == 0 {
		return n
	}
	field := c.to.Descriptor().Fields().ByName(table)
	from, to := c.from.Get(field).List(), c.to.Mutable(field).List()
	if i < 0 || int(i) >= from.Len() {
		if c.err == nil {
			c.err = fmt.Errorf("%s[%d]: out of range, the table has %d elements", table, i, from.Len())
		}
		return 0
	}
	v := from.Get(int(i))
	if field.Message() != nil {
		v = protoreflect.ValueOfMessage(c.copy(v.Message()))
		if a, ok := v.Message().Interface().(*profilespb.KeyValueAndUnit); ok && text(c.to.Interface().(*profilespb.ProfilesDictionary), a.GetKeyStrindex()) == threadKey {
			a.Value = &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: c.thread(a.GetValue().GetIntValue())}}
		}
	}
	n := int32(to.Len())
	to.Append(v)
	c.places[place{table, i}] = n
	return n
}
