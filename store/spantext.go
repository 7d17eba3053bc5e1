// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"unsafe"
)

// spanText is a text that records and names share: a service, or a label of
// samples, which outlives the windows that it came in.
type spanText struct {
	value string
	holders
}

func (t *spanText) cost() int64 {
	return allocSize(int64(unsafe.Sizeof(*t))) + allocSize(int64(len(t.value))) + churnSize(stringSize+pointerSize)
}

// String returns "" for nil, which stands for the empty text.
func (t *spanText) String() string {
	if t == nil {
		return ""
	}
	return t.value
}

// retainText returns the one copy of s, with a reference.
func (l *spanLog) retainText(s string) *spanText {
	if s == "" {
		return nil
	}
	t := l.texts[s]
	if t == nil {
		t = &spanText{value: strings.Clone(s)}
		l.texts[t.value] = t
		t.bytes = t.cost()
		l.bytes += t.bytes
	}
	l.retain(&t.holders)
	return t
}

func (l *spanLog) releaseText(t *spanText) {
	if t == nil {
		return
	}
	l.release(&t.holders)
	if t.refs == 0 {
		delete(l.texts, t.value)
		l.bytes -= t.bytes
	}
}

// label gives a record the label of its newest samples that have one.
func (l *spanLog) label(r *spanRecord, label string) {
	if label == "" || r.label.String() == label {
		return
	}
	old := r.label
	l.enlistTexts(r, -1)
	r.label = l.retainText(label)
	l.enlistTexts(r, +1)
	l.releaseText(old)
}
