// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package split

import (
	"math/bits"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

// Tables tells what a part has already, of what its samples refer to. The zero
// value is not usable: see NewTables.
type Tables struct {
	part      int
	count     int // locations of the part
	locations map[*profile.Location]entry
	functions map[*profile.Function]int
	texts     map[string]int
	index     int // bytes of an index of the text table, at most
}

// entry is the number of a location in a part.
type entry struct{ part, number int }

// NewTables returns the tables of p's parts.
func NewTables(p *profile.Profile) *Tables {
	texts := 16 + 2*len(p.Mapping) + len(p.Comments) + 3*len(p.Function)
	for _, s := range p.Sample {
		for _, values := range s.Label {
			texts += 1 + len(values)
		}
		for _, units := range s.NumUnit {
			texts += 1 + len(units)
		}
	}
	return &Tables{
		locations: make(map[*profile.Location]entry, len(p.Location)),
		functions: make(map[*profile.Function]int, len(p.Function)),
		texts:     map[string]int{},
		index:     Varint(uint64(texts)),
	}
}

// Next begins a part.
func (t *Tables) Next() { t.part, t.count = t.part+1, 0 }

// Index returns how many bytes a field takes, at most, that refers to a text.
func (t *Tables) Index() int { return 1 + t.index }

// Text returns the bytes that s adds to the text table.
func (t *Tables) Text(s string) int {
	if s == "" || t.texts[s] == t.part {
		return 0
	}
	t.texts[s] = t.part
	if !utf8.ValidString(s) {
		return Bytes(3 * len(s)) // OTLP has U+FFFD in the place of a byte
	}
	return Bytes(len(s))
}

// Location returns the bytes that l and its functions add, in pprof, and the number
// of l in the part, from 1 on.
func (t *Tables) Location(l *profile.Location) (size, number int) {
	if e := t.locations[l]; e.part == t.part {
		return 0, e.number
	}
	t.count++
	t.locations[l] = entry{t.part, t.count}
	body := Field(l.ID) + Field(l.Address) + 2 // 2 for IsFolded
	if l.Mapping != nil {
		body += Field(l.Mapping.ID)
	}
	for _, line := range l.Line {
		inner := Field(uint64(line.Line)) + Field(uint64(line.Column))
		if f := line.Function; f != nil {
			inner += Field(f.ID)
			size += t.function(f)
		}
		body += Bytes(inner)
	}
	return size + Bytes(body), t.count
}

func (t *Tables) function(f *profile.Function) int {
	if t.functions[f] == t.part {
		return 0
	}
	t.functions[f] = t.part
	return Bytes(Field(f.ID)+Field(uint64(f.StartLine))+3*t.Index()) + t.Text(f.Name) + t.Text(f.SystemName) + t.Text(f.Filename)
}

// Bytes returns the size of a field of n bytes, with its tag.
func Bytes(n int) int { return 1 + Varint(uint64(n)) + n }

// Varint returns the size of v as a varint.
func Varint(v uint64) int { return max((bits.Len64(v)+6)/7, 1) }

// Field returns the size of a field of type varint, with its tag.
func Field(v uint64) int { return 1 + Varint(v) }
