// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/viewer"
)

// pageStatus is the state of the agent on the page, with numbers of losses.
type pageStatus struct {
	host      func() receiver.HostStatus
	processes *processes
	agents    string // the path of the socket for agents
	learning  learning
}

// silence is the time without messages until the page reports it. Agents send every five
// seconds by default, and some every 15.
const silence = 30 * time.Second

func (p *pageStatus) status() viewer.Status {
	s := p.host()
	message, all, unreadable := p.processes.seen()
	unknown := p.learning.count(s.AgentSince, p.processes.sampled)
	v := viewer.Status{Running: true, Host: true}
	switch {
	case s.Messages == 0:
		v.Message = "No agent has sent anything yet. As root: ebpf-profiler -collection-agent unix://" + p.agents + " -disable-tls -t all,labels"
	case s.Refused > 0 && s.Refused == s.Messages:
		v.Message = "No message of the agent can be read: " + s.Reason
	case time.Since(message) > silence:
		v.Message = fmt.Sprintf("The agent has sent no samples since %s.", message.UTC().Format("15:04:05 MST"))
	case s.Refused > 0:
		v.Message = fmt.Sprintf("%d of %d messages of agents were refused, the last one because: %s", s.Refused, s.Messages, s.Reason)
	case unknown > 0:
		v.Message = fmt.Sprintf("The agent has started, and is still learning %s: their samples are missing until then.", termtext.Plural(unknown, "program"))
	case unreadable > 0:
		v.Message = fmt.Sprintf("%s in the last 10 s: frames of the kernel only. The agent may not read their files, or their stacks: see CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE in the README.", termtext.Plural(unreadable, "program"))
	case s.Unreadable:
		v.Message = "Some C functions are addresses: hostview may not read a process's files, or they exceed its bounds. Run it as root, or with CAP_SYS_PTRACE."
	}
	add := func(name string, n int) {
		v.Counters = append(v.Counters, viewer.Counter{Name: name, Value: uint64(n)})
	}
	add("processes in the last 10 s", all)
	add("agent: messages", s.Messages)
	add("agent: messages refused", s.Refused)
	add("agent: connections refused, of users that may not send", s.RefusedAgents)
	add("samples with certain labels", s.First+s.Witnessed)
	add("samples that may belong to any span", s.Ambiguous)
	add("samples of programs without labels, so of no span", s.Spanless)
	add("profiles lost: see the log", s.Failed)
	add("socket: programs connected", s.Subscribers)
	add("socket: samples handed out", s.HandedOut)
	add("socket: samples lost, as programs read too slowly or ended", s.Lost)
	add("socket: connections refused", s.RefusedSubscribers)
	return v
}
