// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import "fmt"

// followTables checks what the tables' elements refer to.
func (c *checker) followTables() {
	t := c.tables
	for i, s := range t.GetStackTable() {
		for _, l := range s.GetLocationIndices() {
			if l == 0 {
				c.failf("stack_table[%d]: location 0", i)
			}
			c.locations.use(fmt.Sprintf("stack_table[%d]", i), l)
		}
	}
	for i, l := range t.GetLocationTable() {
		name := fmt.Sprintf("location_table[%d]", i)
		c.mappings.use(name, l.GetMappingIndex())
		c.attributeList(name, l.GetAttributeIndices())
		for _, line := range l.GetLines() {
			c.functions.use(name, line.GetFunctionIndex())
		}
	}
	for i, f := range t.GetFunctionTable() {
		name := fmt.Sprintf("function_table[%d]", i)
		if i > 0 && f.GetNameStrindex() == 0 && f.GetSystemNameStrindex() == 0 && f.GetFilenameStrindex() == 0 {
			c.failf("%s: no name", name)
		}
		c.strings.use(name, f.GetNameStrindex())
		c.strings.use(name, f.GetSystemNameStrindex())
		c.strings.use(name, f.GetFilenameStrindex())
	}
	for i, m := range t.GetMappingTable() {
		name := fmt.Sprintf("mapping_table[%d]", i)
		c.strings.use(name, m.GetFilenameStrindex())
		c.attributeList(name, m.GetAttributeIndices())
	}
	for i, a := range t.GetAttributeTable() {
		name := fmt.Sprintf("attribute_table[%d]", i)
		c.strings.use(name, a.GetKeyStrindex())
		c.strings.use(name, a.GetUnitStrindex())
		if i > 0 && a.GetValue() == nil {
			c.failf("%s: no value", name)
		}
	}
	for i, l := range t.GetLinkTable() {
		if i > 0 && (len(l.GetTraceId()) != 16 || len(l.GetSpanId()) != 8 || isZero(l.GetTraceId()) || isZero(l.GetSpanId())) {
			c.failf("link_table[%d]: ids %x and %x, want 16 and 8 bytes that are not zero", i, l.GetTraceId(), l.GetSpanId())
		}
	}
}

func isZero(id []byte) bool {
	for _, b := range id {
		if b != 0 {
			return false
		}
	}
	return true
}
