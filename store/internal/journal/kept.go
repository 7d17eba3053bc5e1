// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"time"

	"github.com/spanprof/spanprof/internal/profiledir"
)

// Kept writes the spans that outlive others, for the files that have made room or will: as
// many as a quarter of MaxBytes has room for, the first of them. They take the place of those
// that this run has written, and of those of Taken, which stay until all are written.
func (j *Journal) Kept(at time.Time, spans []Span) error {
	var old []profiledir.File
	for _, f := range j.files.Files() {
		if classOf(f.Name) == keptSpans && (j.taken[f.Name] || runOf(f.Name) == j.run) {
			old = append(old, f)
		}
	}
	for room := j.share(); len(spans) > 0; {
		data, n, err := encodeWithin(spans, room)
		if n == 0 && err == nil {
			break
		}
		if at, err = j.writeAt(at, keptSuffix, data, err); err != nil {
			return err
		}
		at = at.Add(-1) // Files returns the newest first, and these spans are worth more.
		room -= int64(len(data))
		spans = spans[n:]
	}
	for _, f := range old {
		j.remove(f)
	}
	// Not before: what this process holds of earlier runs is in its own files now.
	j.boundKeptSpans(j.share())
	j.mu.Lock()
	j.stats.KeptLeft = len(spans)
	j.mu.Unlock()
	j.count(nil)
	return nil
}

// Taken says that this process holds the spans of a file of KeptSpans, but for those that it
// has dropped for others that are worth more: the next Kept takes the place of the file.
func (j *Journal) Taken(f File) { j.taken[f.path] = true }

// encodeWithin returns a file of at most maxBytes with the first spans, and how many these
// are.
func encodeWithin(spans []Span, maxBytes int64) (data []byte, n int, err error) {
	data, _, n, err = encodeSpans(nil, spans)
	for err == nil && n > 0 && int64(len(data)) > maxBytes {
		fit := int64(n) * maxBytes / int64(len(data))
		if n = min(n-1, int(fit)*9/10); n > 0 {
			data, _, n, err = encodeSpans(nil, spans[:n])
		}
	}
	return data, n, err
}
