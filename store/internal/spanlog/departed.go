// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"cmp"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/ident"
)

// departed is what is left of a record that made room before its samples came: where
// more spans end in the time of a profile than there are records. The longest stay, as
// they may have most CPU time.
type departed struct {
	Samples
	name            *Name
	trace           trace.TraceID
	span, parent    trace.SpanID
	start, duration int64
	failed, local   bool
}

// maxDepartedName bounds the names that are held by what departed.
const maxDepartedName = 256

// outstanding reports whether CPU samples of an ended record are yet to come.
func (l *Log) outstanding(r *Row) bool {
	return l.joinedUntil > 0 && r.Start+r.Duration > l.joinedUntil
}

// depart remembers a record that goes although samples of it are outstanding.
func (l *Log) depart(r *Row) {
	l.evictedEarly++
	n := l.nameOf(r)
	if n.keeper == nil || n.keeper == &l.others || len(n.Value) > maxDepartedName {
		return
	}
	l.retain(&n.holders)
	gone, _, grown := l.departed.put(ident.NewKey(r.SpanID), r.Duration, l.joinedUntil, r.Start+r.Duration, departed{
		Samples: r.Samples, name: n, trace: r.TraceID, span: r.SpanID, parent: r.ParentID,
		start: r.Start, duration: r.Duration, failed: r.Err, local: r.LocalRoot,
	})
	l.bytes += grown
	if gone.name != nil {
		l.releaseName(gone.name)
	}
}

// addDeparted adds samples to a span whose record has gone, and makes it a record again
// if it is one of those with most CPU time. It returns false if nothing is known of it.
func (l *Log) addDeparted(key ident.Key, g *Group) bool {
	d := l.departed.get(key)
	if d == nil {
		return false
	}
	if d.CPUCount == 0 && g.CPUCount > 0 {
		l.withSamples++
	}
	d.Add(g.Samples)
	if g.CPUCount > 0 {
		c := l.count(d.name)
		c.CPU += g.CPU
		c.CPUCount += g.CPUCount
		c.Label = cmp.Or(g.Label, c.Label)
	}
	if l.wouldKeep(d) {
		l.comeBack(key, g.Label)
	}
	return true
}

// wouldKeep reports whether a span would be kept for longer if it had a record.
func (l *Log) wouldKeep(d *departed) bool {
	k := d.name.keeper
	if k == nil || d.CPUCount == 0 {
		return false
	}
	r := Row{Duration: d.duration, Samples: d.Samples}
	for of := range k.extremes {
		if x := &k.extremes[of]; len(x.rows) < l.perPlace(of) || value(of, &r) > x.least {
			return true
		}
	}
	return false
}

// comeBack makes a record of what is left of one.
func (l *Log) comeBack(key ident.Key, label string) {
	d, _ := l.departed.take(key)
	id := l.newRow()
	r := l.row(id)
	r.TraceID, r.SpanID, r.ParentID = d.trace, d.span, d.parent
	r.name, r.Start, r.Duration, r.Samples = d.name.ref, d.start, d.duration, d.Samples
	r.Err, r.LocalRoot, r.Lost = d.failed, d.local, LostSummary
	l.setIndex(&l.lookup.ended, key, id)
	l.push(id, pinnedList)
	l.evicted--
	if !r.LocalRoot {
		l.inner++
	}
	l.setLabel(r, label)
	l.offer(id)
	if r.places == 0 {
		l.free(id)
	}
}
