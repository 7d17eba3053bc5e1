// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// maxEntries bounds what is kept until a cut, to some 30 MB with labels and stacks.
const maxEntries = 1 << 16

// No record of the runtime has more words, nor samples: nanoseconds since the machine
// was started, which are in a record too, are more.
const (
	maxWords = 1 << 12
	maxCount = 1 << 30
)

// ErrRecord says that samples are missing because the runtime's records do not have
// the form that this package knows. What was read before them is in the profile.
var ErrRecord = errors.New("cpu samples: the runtime's records are not as expected")

var seed = maphash.MakeSeed()

// Log counts CPU samples by stack and labels. Record and Cut may be called at the
// same time, each by one goroutine.
type Log struct {
	hz          int
	readProfile Reader
	reading     chan struct{} // closed when samples are being taken
	surprised   chan struct{} // closed when records are not as expected

	// What follows is for Cut alone.
	symbols *goruntime.Symbols
	loaded  []*profile.Mapping

	mu    sync.Mutex
	open  *part
	cut   chan *part // of the Cut that waits; nil when there is none
	ended bool       // Record has returned, or is about to

	surprise bool // surprised is closed
}

// Reader is goruntime.ReadCPUProfile.
type Reader func() (records []uint64, labels []*goruntime.LabelSet, eof bool)

// New returns a Log for hz samples per second of CPU that read reads. It may be used
// if goruntime.Unknown returns nil.
func New(hz int, read Reader) *Log {
	return &Log{
		hz:          hz,
		readProfile: read,
		reading:     make(chan struct{}),
		surprised:   make(chan struct{}),
		symbols:     goruntime.NewSymbols(),
	}
}

// Record has the runtime take samples and counts them, until the runtime's CPU
// profile is stopped. Nobody else may have the runtime take or read samples.
func (l *Log) Record() {
	var (
		done *part
		cut  chan<- *part
	)
	for {
		l.mu.Lock()
		l.open = l.newPart(time.Now())
		l.mu.Unlock()
		runtime.SetCPUProfileRate(l.hz)
		if cut == nil {
			close(l.reading)
		} else {
			cut <- done // it has room
		}
		l.read()
		if done, cut = l.next(); cut == nil {
			return
		}
	}
}

// Reading is closed when Record has had the runtime take samples.
func (l *Log) Reading() <-chan struct{} { return l.reading }

// Surprised is closed when the runtime's records are not as expected: the error of a
// Cut is, or will be, ErrRecord.
func (l *Log) Surprised() <-chan struct{} { return l.surprised }

// read counts samples until the runtime has no more.
func (l *Log) read() {
	header := true
	for eof := false; !eof; {
		if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
			// There the runtime does not wait for samples (https://go.dev/issue/61768).
			<-time.After(100 * time.Millisecond)
		}
		var records []uint64
		var labels []*goruntime.LabelSet
		records, labels, eof = l.readProfile()
		l.mu.Lock()
		if header && len(records) > 0 && len(labels) > 0 {
			records, labels, header = l.open.header(records), labels[1:], false
		}
		l.open.add(records, labels)
		if l.open.err != nil && !l.surprise {
			l.surprise = true
			close(l.surprised)
		}
		l.mu.Unlock()
	}
}

// next returns the open part and who waits for it. There is nobody when it was the
// last.
func (l *Log) next() (done *part, cut chan<- *part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut == nil {
		l.open.end = time.Now()
		l.ended = true
		return nil, nil
	}
	cut, l.cut = l.cut, nil
	return l.open, cut
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
// count, and the stack.
func (p *part) add(records []uint64, labels []*goruntime.LabelSet) {
	for ; len(records) > 0; labels = labels[1:] {
		n := records[0]
		if n < 3 || n > min(uint64(len(records)), maxWords) || len(labels) == 0 {
			p.err = ErrRecord
			return
		}
		count, stack := records[2], records[3:n]
		switch {
		case count == 0 && len(stack) == 1:
			// The runtime had no room for so many samples.
			count, stack = stack[0], []uint64{lost}
		case !p.inCode && len(stack) > 0:
			p.verify(stack)
		}
		if count > maxCount {
			p.err = ErrRecord
			return
		}
		p.count(stack, labels[0], int64(count))
		records = records[n:]
	}
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

func (p *part) count(stack []uint64, labels *goruntime.LabelSet, count int64) {
	k := key{labels: content(labels)}
	if len(stack) > 0 {
		k.hash = maphash.Bytes(seed, unsafe.Slice((*byte)(unsafe.Pointer(&stack[0])), 8*len(stack)))
	}
	// Where two stacks have the same hash, one of them is next to it.
	for ; ; k.hash++ {
		e := p.entries[k]
		if e == nil {
			if len(p.entries) == maxEntries {
				p.dropped += count
				return
			}
			e = &entry{stack: make([]uintptr, len(stack)), labels: labels}
			for i, pc := range stack {
				e.stack[i] = uintptr(pc)
			}
			p.entries[k] = e
		} else if !slices.EqualFunc(e.stack, stack, func(a uintptr, b uint64) bool { return uint64(a) == b }) {
			continue
		}
		e.count += count
		return
	}
}

// content returns a string that is equal for equal labels.
func content(set *goruntime.LabelSet) string {
	var b []byte
	for _, l := range set.Labels() {
		for _, s := range []string{l.Key, l.Value} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	return string(b)
}

// Cut returns the profile of what was counted since Record began, or since the last
// Cut, and when that was. The error, which can come with a profile, says that
// samples are missing.
//
// The runtime gives samples away by the hundred, or when it is stopped. So Cut
// stops it, and Record starts it again as soon as it has what there was: in some
// milliseconds where a core is free, and where all are busy when it gets one.
func (l *Log) Cut() (p *profile.Profile, start, end time.Time, err error) {
	l.mu.Lock()
	cut := make(chan *part, 1)
	if l.ended {
		cut <- l.open
		l.open = l.newPart(l.open.end)
		l.open.end = l.open.start
	} else {
		// Under the lock Record cannot end, so that nobody else's profile
		// can be running.
		l.cut = cut
		l.open.end = time.Now()
		runtime.SetCPUProfileRate(0)
	}
	l.mu.Unlock()
	done := <-cut
	return l.build(done), done.start, done.end, done.missing()
}

// missing says which samples are not in the profile, if any.
func (p *part) missing() error {
	if p.dropped == 0 {
		return p.err
	}
	return errors.Join(p.err, &DroppedError{Samples: p.dropped})
}

// End has Record return, unless it is about to.
func (l *Log) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		// As in Cut.
		runtime.SetCPUProfileRate(0)
	}
}

// Start returns when the open part began.
func (l *Log) Start() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open.start
}
