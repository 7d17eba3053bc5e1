// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// table is what is known of a dictionary table.
type table struct {
	check *checker
	name  string
	used  []bool
}

// newTable checks that element 0 is the zero value and that none comes twice.
func newTable[E any](c *checker, name string, elems []E, identity func(E) (id string, zero bool)) table {
	if len(elems) == 0 {
		c.failf("%s: empty", name)
	}
	seen := map[string]int{}
	for i, e := range elems {
		id, zero := identity(e)
		if i == 0 && !zero {
			c.failf("%s[0]: not the zero value", name)
		}
		if before, ok := seen[id]; ok {
			c.failf("%s[%d]: equals element %d", name, i, before)
		}
		seen[id] = i
	}
	return table{check: c, name: name, used: make([]bool, len(elems))}
}

func message[M proto.Message](m M) (id string, zero bool) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return err.Error(), false
	}
	return string(b), len(b) == 0
}

// keyValueAndUnit takes a present but empty value for the lack of one: that is how
// pdata, with which agents write, marshals its zero value.
func keyValueAndUnit(a *profilespb.KeyValueAndUnit) (id string, zero bool) {
	if a.GetKeyStrindex() == 0 && a.GetUnitStrindex() == 0 && a.GetValue().GetValue() == nil {
		return "", true
	}
	return message(a)
}

// use notes a reference.
func (t *table) use(by string, i int32) {
	if i < 0 || int(i) >= len(t.used) {
		t.check.failf("%s: %s[%d] of %d", by, t.name, i, len(t.used))
		return
	}
	t.used[i] = true
}

// unused reports the elements that nothing referred to. The zero values need no
// reference.
func (c *checker) unused() {
	for _, t := range []table{c.strings, c.attributes, c.functions, c.mappings, c.locations, c.stacks, c.links} {
		for i, used := range t.used {
			if i > 0 && !used {
				c.failf("%s[%d]: unused", t.name, i)
			}
		}
	}
}
