// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"errors"
	"fmt"
	"time"

	"github.com/spanprof/spanprof/internal/report"
)

// export hands p over encoded, and returns why it does not wait.
func (l *lane) export(p *Profile) error {
	if p == nil {
		return fmt.Errorf("%s: the profile is nil", l.name)
	}
	l.start()
	if err := l.admit(p, nil); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	return nil
}

// encoded is a profile cut into parts that can wait.
type encoded struct {
	parts      int // how many there are; none of an empty profile
	items      []*item
	errs       []error // why others are lost
	unreadable uint64  // of these
	tooLarge   uint64  // of these
	inMemory   uint64  // of items, for want of a file
	notSpilled error   // why
}

func (l *lane) encode(p *Profile) (e encoded) {
	parts := l.parts(p)
	e.parts = len(parts)
	for n, part := range parts {
		var data []byte
		err := report.Contain(func() (err error) { data, err = part.Pprof(); return err }) // a user's may panic
		if err != nil {
			e.unreadable++
			e.errs = append(e.errs, err)
			continue
		}
		if size := int64(len(data)); size > l.config.maxBytes {
			e.tooLarge++
			e.errs = append(e.errs, fmt.Errorf("a %s profile of %d bytes is larger than the queue, which holds %d: see WithMaxBytes", p.Kind(), size, l.config.maxBytes))
			continue
		}
		i, err := l.item(part, data)
		if err != nil {
			e.inMemory++
			e.notSpilled = err
		}
		i.part = n
		e.items = append(e.items, i)
	}
	return e
}

// admit has the encoded parts of p wait to be sent. given is the item as which p has
// waited so far, nil if it has not.
func (l *lane) admit(p *Profile, given *item) error {
	if given == nil && l.isClosing() {
		return l.refuse()
	}
	e := l.encode(p)

	l.mu.Lock()
	switch {
	case given != nil && l.abandoned:
		l.keepLate(max(1, e.parts), e.items...)
		l.mu.Unlock()
		l.observe()
		return nil
	case given == nil && l.closing != nil:
		l.mu.Unlock()
		for _, i := range e.items {
			i.remove()
		}
		return l.refuse()
	}
	l.status.Taken += uint64(max(1, e.parts))
	if e.parts == 0 {
		l.status.Empty++
	}
	number := l.last + 1
	if given != nil {
		l.preparing = nil
		l.status.Taken--
		number = given.number
	}
	l.last = max(l.last, number)
	l.status.Unreadable += e.unreadable
	l.status.Full += e.tooLarge
	l.status.NotSpilled += e.inMemory
	if e.inMemory > 0 {
		l.respill = time.Now().Add(respillPause)
	}
	var dropped []*item
	full := false // of profiles that were there before
	for _, i := range e.items {
		if err := l.fits(i); err != nil {
			l.status.Full++
			l.leaving[i] = struct{}{}
			dropped = append(dropped, i)
			e.errs = append(e.errs, err)
			continue
		}
		oldest := l.makeRoom(i.size, i.inMemory())
		full = full || len(oldest) > 0
		dropped = append(dropped, oldest...)
		i.number = number
		l.waiting.add(i)
	}
	tell := full && !l.lagging
	l.lagging = l.lagging || full
	err := errors.Join(e.errs...)
	if err != nil {
		l.lost = err
	}
	l.retry.arrive()
	l.settle()
	l.mu.Unlock()

	l.forget(dropped)
	if tell {
		l.report(errors.New("the queue is full, the oldest profiles are being dropped"))
	}
	if e.notSpilled != nil {
		l.report(fmt.Errorf("a %s profile waits in memory: %w", p.Kind(), e.notSpilled))
	}
	return err
}

// refuse counts a profile that came after Shutdown.
func (l *lane) refuse() error {
	l.mu.Lock()
	l.status.Taken++
	l.status.Unsent++
	l.mu.Unlock()
	l.observe()
	return ErrShutdown
}

// parts returns p, or the parts that the destination wants it cut into: none for an
// empty one.
func (l *lane) parts(p *Profile) []*Profile {
	if l.sink.split == nil {
		return []*Profile{p}
	}
	var parts []*Profile
	if err := report.Contain(func() (err error) { parts, err = l.sink.split(p); return err }); err != nil {
		return []*Profile{p} // the destination will say what is wrong with it
	}
	return parts
}

// item returns what waits for p, and why no file does.
func (l *lane) item(p *Profile, data []byte) (*item, error) {
	end := p.End()
	// A user's profile may be without a time, and a clock may have been set back.
	if now := time.Now(); p.Start().IsZero() || end.After(now) {
		end = now
	}
	if l.config.spill {
		spilled, err := spill(l.config, p.window, end, data)
		if err == nil {
			return spilled, nil
		}
		i := newItem(p, end, data)
		_, i.unfit = errors.AsType[*unfitError](err)
		return i, err
	}
	return newItem(p, end, data), nil
}

// fits returns why there is no room for i, whatever is dropped; the caller holds l.mu.
func (l *lane) fits(i *item) error {
	bytes, memory := l.sendingBytes()
	switch {
	case bytes+i.size > l.config.maxBytes:
		return fmt.Errorf("no room for a %s profile of %d bytes beside what is being sent: see WithMaxBytes", i.kind, i.size)
	case memory+i.inMemory() > l.config.maxMemory():
		return fmt.Errorf("no room in memory for a %s profile of %d bytes, which no file could be written for: see WithSpill", i.kind, i.size)
	}
	return nil
}

// makeRoom drops the oldest profiles until n bytes fit, of which so many are to wait in
// memory; the caller holds l.mu.
func (l *lane) makeRoom(n, inMemory int64) (dropped []*item) {
	bytes, memory := l.sendingBytes()
	for i := l.waiting.oldest(); i != nil && l.waiting.bytes+bytes+n > l.config.maxBytes; i = l.waiting.oldest() {
		dropped = append(dropped, l.drop(i, &l.status.Full))
	}
	for l.waiting.memory > 0 && l.waiting.memory+memory+inMemory > l.config.maxMemory() {
		dropped = append(dropped, l.drop(l.waiting.first(byPlace), &l.status.Full))
	}
	return dropped
}

// adopt takes over what an earlier process has left, and returns what is dropped. A
// file that is too large by itself is no reason to drop the others. The caller holds
// l.mu.
func (l *lane) adopt(left []*item) (dropped []*item) {
	for _, i := range left {
		l.last++
		i.number = l.last
		l.status.Taken++
		l.waiting.add(i)
		if i.size > l.config.maxBytes {
			dropped = append(dropped, l.drop(i, &l.status.Full))
		}
	}
	return append(dropped, l.makeRoom(0, 0)...)
}

func (l *lane) isClosing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing != nil
}

// unlock leaves the spill directory to others. A second call does nothing.
func (l *lane) unlock() {
	if l.lock != nil {
		_ = l.lock.Close()
	}
}
