// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pprofout writes profiles in the format of pprof's profile.proto, compressed. It
// writes each part when it gets it, and keeps nothing but the texts.
package pprofout

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"sync"
)

// The fields of a Profile in profile.proto.
const (
	fieldSampleType        = 1
	fieldSample            = 2
	fieldMapping           = 3
	fieldLocation          = 4
	fieldFunction          = 5
	fieldStringTable       = 6
	fieldTimeNanos         = 9
	fieldDurationNanos     = 10
	fieldPeriodType        = 11
	fieldPeriod            = 12
	fieldComment           = 13
	fieldDefaultSampleType = 14
)

// Header is what a profile says of all its samples.
type Header struct {
	SampleTypes              []ValueType
	TimeNanos, DurationNanos int64
	PeriodType               ValueType
	Period                   int64
	Comments                 []string
	DefaultSampleType        string
}

// ValueType says what values measure, and in which unit.
type ValueType struct{ Type, Unit string }

// Label is a label of a sample: a number if Value is "".
type Label struct {
	Key, Value, Unit string
	Num              int64
}

// Mapping is an executable or a library.
type Mapping struct {
	ID, Start, Limit, Offset                                    uint64
	File, BuildID                                               string
	HasFunctions, HasFilenames, HasLineNumbers, HasInlineFrames bool
}

// Location is an address with its lines. Mapping is an ID, 0 where there is none.
type Location struct {
	ID, Mapping, Address uint64
	Lines                []Line
	Folded               bool
}

// Line is a line of the function with that ID.
type Line struct {
	Function     uint64
	Line, Column int64
}

// Function is a function of the program.
type Function struct {
	ID                         uint64
	Name, SystemName, Filename string
	StartLine                  int64
}

// Writer writes one profile. It keeps the first error, which Close returns. It is not safe
// for concurrent use.
type Writer struct {
	out *gzip.Writer
	err error
	// texts has the number of each text of list.
	texts map[string]int64
	list  []string
	// whole, part and labels are used again for each message.
	whole, part, labels message
}

// compressors are reused: a new one clears 1 MB.
var compressors = sync.Pool{New: func() any {
	// The level is valid. The best one takes five times the time for 20 % less.
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	return z
}}

// NewWriter returns a Writer to w. Close must be called.
func NewWriter(w io.Writer) *Writer {
	z := compressors.Get().(*gzip.Writer)
	z.Reset(w)
	// The first text of a profile is "".
	return &Writer{out: z, texts: map[string]int64{"": 0}, list: []string{""}}
}

// Header writes what the profile says of all its samples.
func (w *Writer) Header(h Header) {
	w.whole = w.whole[:0]
	for _, t := range h.SampleTypes {
		w.valueType(fieldSampleType, t)
	}
	w.whole.int(fieldTimeNanos, h.TimeNanos)
	w.whole.int(fieldDurationNanos, h.DurationNanos)
	w.valueType(fieldPeriodType, h.PeriodType)
	w.whole.int(fieldPeriod, h.Period)
	if len(h.Comments) > 0 {
		w.part = w.part[:0]
		for _, c := range h.Comments {
			w.part = binary.AppendUvarint(w.part, uint64(w.text(c)))
		}
		w.whole.part(fieldComment, w.part)
	}
	w.whole.int(fieldDefaultSampleType, w.text(h.DefaultSampleType))
	w.write()
}

func (w *Writer) valueType(field int, t ValueType) {
	w.part = w.part[:0]
	w.part.int(1, w.text(t.Type))
	w.part.int(2, w.text(t.Unit))
	w.whole.part(field, w.part)
}

// Labels sets the labels of the samples that follow.
func (w *Writer) Labels(labels []Label) {
	w.labels = w.labels[:0]
	for _, l := range labels {
		w.part = w.part[:0]
		w.part.int(1, w.text(l.Key))
		w.part.int(2, w.text(l.Value))
		w.part.int(3, l.Num)
		w.part.int(4, w.text(l.Unit))
		w.labels.part(3, w.part)
	}
}

// Sample writes a sample with the IDs of its locations, the leaf first.
func (w *Writer) Sample(locations []uint64, values []int64) {
	w.whole = w.whole[:0]
	if len(locations) > 0 {
		w.part = w.part[:0]
		for _, id := range locations {
			w.part = binary.AppendUvarint(w.part, id)
		}
		w.whole.part(1, w.part)
	}
	w.part = w.part[:0]
	for _, v := range values {
		w.part = binary.AppendUvarint(w.part, uint64(v))
	}
	w.whole.part(2, w.part)
	w.whole = append(w.whole, w.labels...)
	w.writeAs(fieldSample)
}

// Mapping writes a mapping. The first one is the main program to pprof's tools.
func (w *Writer) Mapping(m Mapping) {
	w.whole = w.whole[:0]
	w.whole.uint(1, m.ID)
	w.whole.uint(2, m.Start)
	w.whole.uint(3, m.Limit)
	w.whole.uint(4, m.Offset)
	w.whole.int(5, w.text(m.File))
	w.whole.int(6, w.text(m.BuildID))
	w.whole.bool(7, m.HasFunctions)
	w.whole.bool(8, m.HasFilenames)
	w.whole.bool(9, m.HasLineNumbers)
	w.whole.bool(10, m.HasInlineFrames)
	w.writeAs(fieldMapping)
}

// Location writes a location.
func (w *Writer) Location(l Location) {
	w.whole = w.whole[:0]
	w.whole.uint(1, l.ID)
	w.whole.uint(2, l.Mapping)
	w.whole.uint(3, l.Address)
	for _, line := range l.Lines {
		w.part = w.part[:0]
		w.part.uint(1, line.Function)
		w.part.int(2, line.Line)
		w.part.int(3, line.Column)
		w.whole.part(4, w.part)
	}
	w.whole.bool(5, l.Folded)
	w.writeAs(fieldLocation)
}

// Function writes a function.
func (w *Writer) Function(f Function) {
	w.whole = w.whole[:0]
	w.whole.uint(1, f.ID)
	w.whole.int(2, w.text(f.Name))
	w.whole.int(3, w.text(f.SystemName))
	w.whole.int(4, w.text(f.Filename))
	w.whole.int(5, f.StartLine)
	w.writeAs(fieldFunction)
}

// Close writes the texts and ends the profile. It returns the first error of w.
func (w *Writer) Close() error {
	w.whole = w.whole[:0]
	for _, text := range w.list {
		w.whole.tag(fieldStringTable, bytes)
		w.whole = binary.AppendUvarint(w.whole, uint64(len(text)))
		w.whole = append(w.whole, text...)
		if len(w.whole) > 32<<10 {
			w.write()
			w.whole = w.whole[:0]
		}
	}
	w.write()
	if err := w.out.Close(); w.err == nil {
		w.err = err
	}
	w.Discard()
	return w.err
}

// Discard ends a profile that nobody wants any more. Nothing may follow it.
func (w *Writer) Discard() {
	if w.out != nil {
		w.out.Reset(io.Discard)
		compressors.Put(w.out)
		w.out = nil
	}
}

// text returns the number of a text.
func (w *Writer) text(s string) int64 {
	n, ok := w.texts[s]
	if !ok {
		n = int64(len(w.list))
		w.texts[s] = n
		w.list = append(w.list, s)
	}
	return n
}

// writeAs writes the message at hand as a field of the profile.
func (w *Writer) writeAs(field int) {
	w.part = w.part[:0]
	w.part.tag(field, bytes)
	w.part = binary.AppendUvarint(w.part, uint64(len(w.whole)))
	w.put(w.part)
	w.put(w.whole)
}

// write writes the fields of the profile at hand.
func (w *Writer) write() { w.put(w.whole) }

func (w *Writer) put(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
}
