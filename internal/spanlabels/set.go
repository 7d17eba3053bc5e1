// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlabels

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/labelkey"
)

const (
	keyProfile = labelkey.ProfileID
	keySpan    = labelkey.SpanID
	keyName    = labelkey.SpanName
	keyTrace   = labelkey.TraceID
)

// IsOwn reports whether key is one of the span labels.
func IsOwn(key string) bool {
	return key == keyProfile || key == keySpan || key == keyName || key == keyTrace
}

// ids returns the digits of the ids without a copy. By the public API they are
// copied, because b pins the span's context.
func (b *Block) ids() string {
	if usesPublic {
		return string(b.hex[:])
	}
	return unsafe.String(&b.hex[0], len(b.hex))
}

// encodeHex is hex.Encode of a multiple of four bytes, some 14 ns faster for a span.
func encodeHex(dst, src []byte) {
	for ; len(src) > 0; dst, src = dst[8:], src[4:] {
		x := uint64(binary.BigEndian.Uint32(src))
		x = (x<<16 | x) & 0x0000ffff0000ffff
		x = (x<<8 | x) & 0x00ff00ff00ff00ff
		x = (x<<4 | x) & 0x0f0f0f0f0f0f0f0f                           // a digit in each byte
		letters := (x + 0x0606060606060606) >> 4 & 0x0101010101010101 // 1 from 10 up
		binary.BigEndian.PutUint64(dst, x+0x3030303030303030+letters*('a'-'0'-10))
	}
}

// appendOwn appends the labels of v, sorted by key.
func (b *Block) appendOwn(list []label, v *Values) []label {
	ids := b.ids()
	if v.SpanID {
		list = append(list, label{Key: keyProfile, Value: ids[:spanDigits]}, label{Key: keySpan, Value: ids[:spanDigits]})
	}
	if v.Name != "" {
		list = append(list, label{Key: keyName, Value: v.Name})
	}
	if v.TraceID {
		list = append(list, label{Key: keyTrace, Value: ids[spanDigits:]})
	}
	return list
}

// appendIf appends the labels that keep accepts.
func appendIf(list, labels []label, keep func(label) bool) []label {
	for _, l := range labels {
		if keep(l) {
			list = append(list, l)
		}
	}
	return list
}

func sortByKey(list []label) {
	slices.SortFunc(list, func(a, b label) int { return strings.Compare(a.Key, b.Key) })
}

func isOwn(l label) bool             { return IsOwn(l.Key) }
func isUser(l label) bool            { return !IsOwn(l.Key) }
func hasUserLabels(m *labelSet) bool { return slices.ContainsFunc(m.Labels(), isUser) }

// withUserLabels returns own and the user's labels, sorted by key as
// runtime/pprof keeps them, with room for one more. Labels of the context
// override the goroutine's, as in pprof.Do.
func withUserLabels(own []label, onGoroutine, inContext *labelSet) []label {
	list := make([]label, 0, len(own)+len(onGoroutine.Labels())+len(inContext.Labels())+1)
	list = appendIf(append(list, own...), inContext.Labels(), isUser)
	list = appendIf(list, onGoroutine.Labels(), func(l label) bool { return isUser(l) && inContext.Find(l.Key) == nil })
	sortByKey(list)
	return list
}

// renamed appends labels with another span name to list, which is empty.
func renamed(list, labels []label, name string) []label {
	list = appendIf(list, labels, func(l label) bool { return l.Key != keyName })
	if name != "" {
		list = append(list, label{Key: keyName, Value: name})
		sortByKey(list)
	}
	return list
}

// takeValues returns m, a foreign set, without the labels that have b's values.
// Labels of back take their place. It reports whether m is a copy of b's labels
// or of a descendant's. It returns other sets unchanged.
func (b *Block) takeValues(m, back *labelSet) (*labelSet, bool) {
	own := b.current()
	same := func(key string) bool {
		// A copy from before a Rename has the first name.
		return own.Find(key) != nil && sameValue(m, own, key) || key == keyName && sameValue(m, &b.set, key)
	}
	if own.Find(keyTrace) == nil {
		return m, true
	}
	if !same(keySpan) && !same(keyProfile) && (own.Find(keySpan) != nil || !same(keyTrace) || !same(keyName)) {
		return m, same(keyTrace)
	}
	kept := &labelSet{List: appendIf(nil, m.List, func(l label) bool { return isUser(l) || !same(l.Key) })}
	list := appendIf(slices.Clip(kept.List), back.Labels(), func(l label) bool { return isOwn(l) && kept.Find(l.Key) == nil })
	if len(list) == 0 {
		return nil, true
	}
	sortByKey(list)
	return &labelSet{List: slices.Clip(list)}, true
}

// sameValue reports whether two sets have the same value of a label, or none.
func sameValue(m, other *labelSet, key string) bool {
	return valueIn(m.Labels(), key) == valueIn(other.Labels(), key)
}

func valueIn(labels []label, key string) string {
	for _, l := range labels {
		if l.Key == key {
			return l.Value
		}
	}
	return ""
}

func spanID(m *labelSet) string { return valueIn(m.Labels(), keySpan) }

// TimesKept makes blocks keep the times of their start and end, for [Running] and
// [At]. A program that does not sample itself saves the cost.
var TimesKept atomic.Bool

func now() int64 {
	if !TimesKept.Load() {
		return 1 // before any sample
	}
	return goruntime.Nanotime()
}

// At returns the label set that held at nanotime, of goruntime.Nanotime, on a goroutine
// that carried set then. It skips spans that had ended; other sets have the span's present
// name. endedSpanID is the span_id of set if that no longer held, else empty. Both sets may
// be nil. It may be called from any goroutine, at any later time.
func At(set *labelSet, nanotime int64) (held *labelSet, endedSpanID string) {
	held, b := holding(set, nanotime)
	if held == set {
		return set, ""
	}
	if b != nil {
		held = b.current()
	}
	if id := spanID(set); id != spanID(held) {
		endedSpanID = id
	}
	return held, endedSpanID
}

// holding returns the first set under set that had not ended, and its block.
func holding(set *labelSet, nanotime int64) (*labelSet, *Block) {
	for b := blockOf(set); b != nil; b = blockOf(set) {
		if ended := b.ended.Load(); ended == 0 || nanotime <= ended {
			return set, b
		}
		set = b.prev.Load()
	}
	return set, nil
}

// live returns the set that holds from now on, with its present name.
func live(set *labelSet) *labelSet {
	held, b := holding(set, math.MaxInt64)
	if b != nil {
		return b.current()
	}
	return held
}

// Root is an open local root. Start is in nanoseconds since 1970.
type Root struct {
	ID, Trace, Name string
	Start           int64
}

// Running returns the open local roots with labels on goroutines, each once; nil unless
// goruntime.ListsGoroutines. It costs about a microsecond for each goroutine.
func Running() []Root {
	_, sets := goruntime.Goroutines(nil, nil)
	return Roots(sets)
}

// Roots returns the open local roots of label sets, each once.
func Roots(sets []*labelSet) (roots []Root) {
	seen := make(map[*Block]bool)
	for _, set := range sets {
		for b := blockOf(set); b != nil && !seen[b]; b = b.under() {
			seen[b] = true
			if b.local && !b.Ended() {
				roots = append(roots, Root{b.ID(), b.ids()[spanDigits:], b.Name(), b.start})
			}
		}
	}
	return roots
}
