// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter/internal/split"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// labels keeps the labels of a series within what the server takes: those of tags
// and those of samples, which become a series' own there. It would refuse the whole
// profile otherwise.
//
// WithTags goes first, then come the labels of samples, which nothing else has, and
// then the attributes of the resource.
type labels struct {
	tags map[string]string // of WithTags

	mu   sync.Mutex
	own  int // labels of a sample, at most so far: a tag that is left out once stays so
	left int // attributes left out, at most so far
}

// room returns how many tags there may be.
func (l *labels) room() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maxTags - l.own
}

// isMore reports whether more attributes than ever before are left out.
func (l *labels) isMore(left int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	more := left > l.left
	l.left = max(l.left, left)
	return more
}

// fit returns p with labels that the server takes and shows: p itself if they are so. It
// shares the rest with p. It reports whether more has changed than dots, which become
// underscores in tags too.
func (l *labels) fit(p *profile.Profile) (_ *profile.Profile, changed bool) {
	var fitted []*profile.Sample
	own, room := 0, maxTags-len(l.tags)
	for i, s := range p.Sample {
		n, shown, ok := l.count(s)
		if !shown || !ok || n > room {
			if fitted == nil {
				fitted = slices.Clone(p.Sample)
			}
			changed = changed || !ok || n > room
			fitted[i] = l.fitSample(s, room)
			n, _, _ = l.count(fitted[i])
		}
		own = max(own, n)
	}
	l.mu.Lock()
	l.own = max(l.own, own)
	l.mu.Unlock()
	if fitted == nil {
		return p, false
	}
	return split.WithSamples(p, fitted), changed
}

// count returns how many labels a sample adds to a series, whether the server shows all
// of them, and whether it takes the values and, but for dots, the names.
func (l *labels) count(s *profile.Sample) (n int, shown, ok bool) {
	shown, ok = true, true
	for name, values := range s.Label {
		if isID(name) || l.tags[name] != "" { // the server prefers the tag
			continue
		}
		if name == labelkey.EndedSpanID {
			shown = false
			continue
		}
		n++
		own := tagName(name)
		_, twice := s.Label[own]
		shown = shown && own == name
		ok = ok && (own == name || own == strings.ReplaceAll(name, ".", "_") && !twice) && !slices.ContainsFunc(values, isBadValue)
	}
	return n, shown, ok
}

// fitSample returns s with no more labels than there is room for: span_name, and
// then the first ones by their names. Names and values are changed like those of
// tags.
func (l *labels) fitSample(s *profile.Sample, room int) *profile.Sample {
	names := slices.Sorted(maps.Keys(s.Label))
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case a == labelkey.SpanName:
			return -1
		case b == labelkey.SpanName:
			return 1
		}
		return 0
	})
	own := make(map[string][]string, len(names))
	for _, name := range names {
		switch fitted := tagName(name); {
		case isID(name):
			own[name] = s.Label[name]
		case name == labelkey.EndedSpanID:
			// The server does not know it: each of its values would be a series.
		case own[fitted] == nil && l.tags[fitted] == "" && room > 0:
			room--
			for _, value := range s.Label[name] {
				own[fitted] = append(own[fitted], labelValue(value))
			}
		}
	}
	return &profile.Sample{Location: s.Location, Value: s.Value, Label: own, NumLabel: s.NumLabel, NumUnit: s.NumUnit}
}

// isID reports whether the server takes a label for an id, and not for one of the
// series.
func isID(name string) bool {
	return name == labelkey.ProfileID || name == labelkey.SpanID || name == labelkey.TraceID
}

func isBadValue(s string) bool { return len(s) > maxTagValue || !utf8.ValidString(s) }

// labelValue cuts a value to what the server takes.
func labelValue(s string) string {
	s = strings.ToValidUTF8(s, "_")
	return strings.ToValidUTF8(s[:min(len(s), maxTagValue)], "")
}

// foreignID returns a profile_id that is not 16 hex digits, if there is one.
func foreignID(p *profile.Profile) (string, bool) {
	for _, s := range p.Sample {
		for _, id := range s.Label[labelkey.ProfileID] {
			if !isSpanID(id) {
				return id, true
			}
		}
	}
	return "", false
}

func isSpanID(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 16
}
