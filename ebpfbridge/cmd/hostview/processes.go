// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/exporter"
)

// processes passes an agent's profiles on to the store, and notes which processes have samples.
type processes struct {
	exporter.Exporter // the store

	mu      sync.Mutex
	message time.Time        // of the last profile, zero before the first
	since   time.Time        // of last
	last    map[int]*sampled // by process id
	before  map[int]*sampled // in the time before
}

// sampled is a process with samples.
type sampled struct {
	user    bool // it has frames outside of the kernel
	samples int64
}

const (
	// countedTime is the time in which samples are counted by process.
	countedTime = 10 * time.Second
	// kernelOnly is the least number of samples of a program that the agent cannot read. While
	// programs start and end, a few samples have frames of the kernel only.
	kernelOnly = 10
)

// Export stores a process's profile.
func (p *processes) Export(ctx context.Context, of *exporter.Profile) error {
	parsed, err := of.Parsed()
	if err != nil {
		return err
	}
	p.count(parsed, time.Now())
	if len(parsed.Sample) == 0 {
		return nil
	}
	w := exporter.Window{Kind: storedKind(of.Kind()), Start: of.Start(), Duration: of.Duration(), Resource: of.Resource()}
	return p.Exporter.Export(ctx, exporter.NewParsedProfile(w, parsed))
}

func (p *processes) count(parsed *profile.Profile, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.message = now
	if now.Sub(p.since) >= countedTime {
		p.since, p.before, p.last = now, p.last, map[int]*sampled{}
	}
	for _, s := range parsed.Sample {
		pid, _ := strconv.Atoi(s.Label[receiver.LabelProcess][0]) // by receiver.Host
		if p.last[pid] == nil {
			p.last[pid] = new(sampled)
		}
		p.last[pid].samples += s.Value[0]
		p.last[pid].user = p.last[pid].user || slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
			return l.Mapping == nil || l.Mapping.File != exporter.KernelMapping
		})
	}
}

// seen returns the time of the last message, and the number of processes lately: 0 after the end of
// the agent. unreadable is the number of programs with frames of the kernel only.
func (p *processes) seen() (message time.Time, all, unreadable int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.message) > 2*countedTime {
		return p.message, 0, 0
	}
	for pid, s := range p.before {
		if _, kernelThread := processStat(pid); !kernelThread && !s.user && s.samples >= kernelOnly {
			unreadable++
		}
	}
	return p.message, max(len(p.before), len(p.last)), unreadable
}

// sampled reports whether a process has samples lately.
func (p *processes) sampled(pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last[pid] != nil || p.before[pid] != nil
}
