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

// admit has the encoded parts of p wait to be sent. given is the item as which p has
// waited so far, nil if it has not.
func (l *lane) admit(p *Profile, given *item) error {
	if given == nil && l.isClosing() {
		return l.refuse()
	}
	var (
		items               []*item
		errs                []error
		notSpilled          error
		spillsMissed        uint64
		unreadable, tooMuch uint64
	)
	parts := l.parts(p)
	for n, part := range parts {
		var data []byte
		err := report.Contain(func() (err error) { data, err = part.Pprof(); return err }) // a user's may panic
		switch size := int64(len(data)); {
		case err != nil:
			unreadable++
			errs = append(errs, err)
		case size > l.config.maxBytes:
			tooMuch++
			errs = append(errs, fmt.Errorf("a %s profile of %d bytes is larger than the queue, which holds %d: see WithMaxBytes", p.Kind(), size, l.config.maxBytes))
		default:
			i, err := l.item(part, data)
			if err != nil {
				spillsMissed++
				notSpilled = err
			}
			i.part = n
			items = append(items, i)
		}
	}

	l.mu.Lock()
	if given != nil && l.abandoned {
		l.keepLate(max(1, len(parts)), items...)
		l.mu.Unlock()
		l.observe()
		return nil
	}
	if given == nil && l.closing != nil {
		l.mu.Unlock()
		for _, i := range items {
			i.remove()
		}
		return l.refuse()
	}
	l.status.Taken += uint64(max(1, len(parts)))
	if len(parts) == 0 {
		l.status.Empty++
	}
	number := l.last + 1
	if given != nil {
		l.preparing = nil
		l.status.Taken--
		number = given.number
	}
	l.last = max(l.last, number)
	l.status.Unreadable += unreadable
	l.status.Full += tooMuch
	l.status.NotSpilled += spillsMissed
	if spillsMissed > 0 {
		l.respill = time.Now().Add(respillPause)
	}
	var dropped []*item
	for _, i := range items {
		if l.sendingBytes()+i.size > l.config.maxBytes {
			l.status.Full++
			l.leaving[i] = struct{}{}
			dropped = append(dropped, i)
			errs = append(errs, fmt.Errorf("no room for a %s profile of %d bytes beside what is being sent: see WithMaxBytes", p.Kind(), i.size))
			continue
		}
		dropped = append(dropped, l.makeRoom(i.size)...)
		i.number = number
		l.waiting.add(i)
	}
	full := len(dropped) > len(errs)-int(unreadable+tooMuch)
	tell := full && !l.lagging
	l.lagging = l.lagging || full
	err := errors.Join(errs...)
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
	if notSpilled != nil {
		l.report(fmt.Errorf("a %s profile waits in memory: %w", p.Kind(), notSpilled))
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
		return []*Profile{p} // not for us to judge: the destination says what it makes of it
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

// makeRoom drops the oldest profiles until n bytes fit; the caller holds l.mu.
func (l *lane) makeRoom(n int64) (dropped []*item) {
	for i := l.waiting.oldest(); i != nil && l.waiting.bytes+l.sendingBytes()+n > l.config.maxBytes; i = l.waiting.oldest() {
		dropped = append(dropped, l.drop(i, &l.status.Full))
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
	return append(dropped, l.makeRoom(0)...)
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
