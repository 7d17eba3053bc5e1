// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// No record of the runtime has more words, nor samples: nanoseconds since the machine
// was started, which are in a record too, are more.
const (
	maxWords = 1 << 12
	maxCount = 1 << 30
)

// disorder is how far the time of a record may be from what is known of it: the clocks of
// two cores can differ, and a machine that stands still between two looks at
// them has them in another order. It is small beside nonsense.
const disorder = int64(time.Second)

// span is a time, in nanotimes.
type span struct{ from, to int64 }

// poked is a record of poke; zero if there is none.
type poked struct {
	at    int64
	stack []uint64 // the leaves of it, of poke and its caller
}

// header reads the record that comes first: its length, the time and the rate, and
// returns what follows. The rate is not ours if the program has set one just
// before.
func (p *part) header(records []uint64) []uint64 {
	if len(records) < 3 || records[0] != 3 || records[2] == 0 || records[2] > uint64(time.Second) {
		p.err = ErrRecord
		return nil
	}
	p.period = time.Second / time.Duration(records[2])
	return records[3:]
}

// add counts records, each of which is: its length in words, the time, the
// count, and the stack. Where it comes to one of poke it returns that and the
// records after it. Times are within what is known of them.
func (p *part) add(records []uint64, labels []*goruntime.LabelSet, within span) ([]uint64, []*goruntime.LabelSet, poked) {
	for ; len(records) > 0; labels = labels[1:] {
		n := records[0]
		if n < 3 || n > min(uint64(len(records)), maxWords) || len(labels) == 0 {
			p.err = ErrRecord
			return nil, nil, poked{}
		}
		at, count, stack := int64(records[1]), records[2], records[3:n]
		records = records[n:]
		switch {
		case at == 0:
			at = p.last // of a thread that is not Go's; the runtime does not say
		case at < within.from-disorder || at-disorder > within.to:
			p.err = ErrRecord
			return nil, nil, poked{}
		}
		// A part can have begun a moment after a sample that was written later.
		at = max(min(at, within.to), p.began)
		p.last = max(p.last, at)
		noRoom := count == 0 && len(stack) == 1
		switch {
		case noRoom:
			// The runtime had no room for so many records.
			count, stack = stack[0], []uint64{lost}
			p.overflowed = true
		case isPoke(stack):
			p.inCode = true // poke's own
			return records, labels[1:], poked{at, stack[:min(len(stack), pokeLeaves+1)]}
		case !p.inCode && len(stack) > 0:
			p.verify(stack)
		}
		if count > maxCount {
			p.err = ErrRecord
			return nil, nil, poked{}
		}
		samples := int64(count)
		if noRoom {
			samples -= p.signals.discarded(samples)
		}
		if samples > 0 {
			p.count(stack, labels[0], at, samples)
		}
	}
	return nil, nil, poked{}
}

// maxForeign is how many stacks may be outside of Go code, from which the runtime has
// nearly all: those of C threads end in its runtime._ExternalCode unless the program
// has called runtime.SetCgoTraceback.
const maxForeign = 100

// verify checks that stacks are made of the addresses of code.
func (p *part) verify(stack []uint64) {
	p.inCode = slices.ContainsFunc(stack, func(pc uint64) bool { return runtime.FuncForPC(uintptr(pc)-1) != nil })
	if p.foreign++; !p.inCode && p.foreign == maxForeign {
		p.err = ErrRecord
	}
}

// pokeEntry is where the code of poke begins.
var pokeEntry = reflect.ValueOf(poke).Pointer()

// pokeEnd is where it ends, or the next function begins.
var pokeEnd = sync.OnceValue(func() uintptr {
	const more = 1 << 10 // than its code is long
	for pc := pokeEntry; pc < pokeEntry+more; pc++ {
		if f := runtime.FuncForPC(pc); f == nil || f.Entry() != pokeEntry {
			return pc
		}
	}
	return pokeEntry + more
})

// pokeLeaves is within how many addresses of a stack poke is found: those before are
// the system call's.
const pokeLeaves = 6

// isPoke reports whether a stack was made by poke.
func isPoke(stack []uint64) bool {
	end := uint64(pokeEnd())
	for _, pc := range stack[:min(len(stack), pokeLeaves)] {
		if pc > uint64(pokeEntry) && pc <= end {
			return true
		}
	}
	return false
}
