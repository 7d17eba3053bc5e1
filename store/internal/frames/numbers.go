// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package frames

// Numbers numbers frames in the order in which they are first asked for, from 0 on. For the
// samples of a store it takes a third of the time of a map, and where the frames are near
// each other, as the leaves of a program's stacks are, no more memory.
type Numbers struct {
	// chunks have a number plus 1 for each frame that has one. Only those of frames that
	// were asked for are there.
	chunks []*[chunkLen]uint32
	// none is that of no frame.
	none uint32
	len  uint32
}

// Numbers returns numbers for the frames that the reader has.
func (r Reader) Numbers() *Numbers { return &Numbers{chunks: make([]*[chunkLen]uint32, len(r.chunks))} }

// Of returns the number of a frame, and whether it is new.
func (n *Numbers) Of(id ID) (number uint32, isNew bool) {
	at := &n.none
	if id != 0 {
		c := &n.chunks[(id-1)/chunkLen]
		if *c == nil {
			*c = new([chunkLen]uint32)
		}
		at = &(*c)[(id-1)%chunkLen]
	}
	if *at == 0 {
		n.len++
		*at = n.len
		return n.len - 1, true
	}
	return *at - 1, false
}
