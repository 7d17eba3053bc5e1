// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package linkurl

import (
	"strconv"
	"strings"
	"unsafe" // for a string of bytes that nobody else has
)

// Image is the text of one span's URLs, behind each other, and where in it the values are
// that differ between spans of one name and baseline. The URLs of another such span are a copy
// of the text with other values at the same places.
//
// It is constant, and fit for any number of goroutines.
type Image struct {
	text   string
	ends   []int // of the URLs
	fields []field
}

// field is where a value is.
type field struct {
	from, to int
	value    value
}

// NewImage returns the image of the URLs that bound templates make of a span.
func NewImage(templates []*Template, s *Span) *Image {
	var image Image
	var b strings.Builder
	for _, t := range templates {
		for i := range t.parts {
			p := &t.parts[i]
			b.WriteString(p.literal)
			from := b.Len()
			p.value.write(&b, s)
			if p.value.what != SpanName && p.value.what != Baseline {
				image.fields = append(image.fields, field{from, b.Len(), p.value})
			}
		}
		b.WriteString(t.tail)
		image.ends = append(image.ends, b.Len())
	}
	image.text = b.String()
	return &image
}

// Fits reports whether Text has the URLs of a span.
func (i *Image) Fits(s *Span) bool {
	_, ok := i.Text(s)
	return ok
}

// Ends returns where in the text the URLs end. The caller must not change it.
func (i *Image) Ends() []int { return i.ends }

// Text returns the URLs of a span of the same name and baseline, behind each other. It is
// false where a value has another length than in the image, as a time before 2001 has.
func (i *Image) Text(s *Span) (string, bool) {
	text := make([]byte, len(i.text))
	copy(text, i.text)
	for at := range i.fields {
		f := &i.fields[at]
		place := text[f.from:f.to]
		switch f.value.what {
		case SpanID:
			if len(place) != idLen || len(s.ID) != idLen {
				return "", false
			}
			*(*[idLen]byte)(place) = [idLen]byte([]byte(s.ID))
		case Start:
			if !s.startDigits.put(place) {
				return "", false
			}
		case End:
			if !s.endDigits.put(place) {
				return "", false
			}
		case BaselineStart:
			if s.baselineStart(); !s.baselineDigits.put(place) {
				return "", false
			}
		default:
			if !f.value.put(place, s) {
				return "", false
			}
		}
	}
	return unsafe.String(unsafe.SliceData(text), len(text)), true
}

// put writes a value of a kind that Text does not write itself, and that has the length of its place, and reports whether it has.
func (v value) put(place []byte, s *Span) bool {
	switch v.what {
	case TraceID:
		return copy(place, s.TraceID) == len(s.TraceID) && len(s.TraceID) == len(place)
	case otherTime:
		var array [nanosLen]byte
		digits := strconv.AppendInt(array[:0], v.time(s), 10)
		return copy(place, digits) == len(digits) && len(digits) == len(place)
	default: // not among the fields
		return true
	}
}
