// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"os"
	"time"

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// threads maps the agent's thread ids to threads of this process. In another pid namespace
// the agent has ids of its own. Then the first samples of records decide, because their
// labels are certain: the span was on the thread at their times.
type threads struct {
	same  bool // the agent's ids are the process's own
	votes map[int64]*votes
	keyed bool // the agent separates records by their labels
}

// votes are about one of the agent's ids.
type votes struct {
	all int           // samples of spans that some thread had on it
	of  map[int64]int // how many of them each of the process's threads had on it
}

// useThreads changes to the threads of an agent: one sender does not vouch for another. An
// agent that starts again has a new connection.
func (r *Receiver) useThreads(connection string) {
	if r.threads = r.known[connection]; r.threads == nil {
		if len(r.known) >= maxConnections {
			clear(r.known) // some connections have ended
		}
		r.threads = new(threads)
		r.known[connection] = r.threads
	}
}

const (
	// leastVotes is how many samples have to agree before an id is known.
	leastVotes = 3
	// maxThreads bounds the ids that are known.
	maxThreads = 4096
)

// see takes what a profile's records tell of threads.
func (t *threads) see(p decode.Timed, list []record, timelines Timelines) {
	if timelines == nil {
		return
	}
	pid, _ := p.Resource().Set().Value("process.pid")
	if t.same = pid.AsInt64() == int64(os.Getpid()); t.same {
		return
	}
	for _, rec := range list {
		id := rec.labels[labelkey.SpanID]
		if id == "" || rec.ambiguous || len(rec.timestamps) == 0 {
			continue
		}
		v := t.votes[rec.thread]
		if v == nil {
			if t.votes == nil || len(t.votes) >= maxThreads {
				t.votes = map[int64]*votes{}
			}
			v = &votes{of: map[int64]int{}}
			t.votes[rec.thread] = v
		}
		on := timelines.ThreadsOf(id, time.Unix(0, int64(rec.timestamps[0])))
		if len(on) > 0 {
			v.all++
		}
		for _, own := range on {
			v.of[own]++
		}
	}
}

// own returns the process's id of a thread. ok is false while it is not certain. The right
// one has nearly all votes. Where a span is on several threads at a time, others have some.
func (t *threads) own(id int64) (own int64, ok bool) {
	if t.same {
		return id, true
	}
	v := t.votes[id]
	if v == nil {
		return 0, false
	}
	best, second := 0, 0
	for candidate, n := range v.of {
		if n > best {
			own, best, second = candidate, n, best
		} else if n > second {
			second = n
		}
	}
	if best*10 < v.all*9 && v.all > 10*leastVotes {
		delete(t.votes, id) // the kernel has given the id to another thread since
		return 0, false
	}
	return own, best >= leastVotes && best*10 >= v.all*9 && second*2 <= best
}
