// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"encoding/binary"
	"strings"

	exptrace "golang.org/x/exp/trace"

	"github.com/spanprof/spanprof/internal/marker"
)

// Frame is one call of a stack.
type Frame struct {
	Func, File string
	Line       int
}

// StackID names a stack of a Timeline. 0 is none.
type StackID uint32

const (
	// maxFrames is how much of a stack is kept, from the leaf.
	maxFrames = 48
	// maxText bounds the names of functions, files and spans.
	maxText = 512
)

// stacks keeps one copy of equal stacks. The reader's own ids hold for one generation of
// the trace alone.
type stacks struct {
	list  [][]Frame
	byPC  map[string]StackID
	known map[exptrace.Stack]StackID // of this generation
	texts map[string]string
	key   []byte
	kept  []exptrace.StackFrame // of the stack in add
	bytes int64
}

func newStacks() *stacks {
	return &stacks{
		list:  make([][]Frame, 1),
		byPC:  map[string]StackID{},
		known: map[exptrace.Stack]StackID{},
		texts: map[string]string{},
	}
}

func (s *stacks) frames(id StackID) []Frame { return s.list[id] }

// add returns the id of a stack, without functions of package marker.
func (s *stacks) add(stack exptrace.Stack) StackID {
	if stack == exptrace.NoStack {
		return 0
	}
	if id, ok := s.known[stack]; ok {
		return id
	}
	s.key, s.kept = s.key[:0], s.kept[:0]
	for f := range stack.Frames() {
		if marker.IsFrame(f.Func) {
			continue
		}
		s.key = binary.LittleEndian.AppendUint64(s.key, f.PC)
		s.key = binary.LittleEndian.AppendUint64(s.key, f.Line)
		if s.kept = append(s.kept, f); len(s.kept) == maxFrames {
			break
		}
	}
	id, ok := s.byPC[string(s.key)]
	if depth := len(s.kept); !ok && depth > 0 {
		id = StackID(len(s.list))
		frames := make([]Frame, 0, depth)
		for _, f := range s.kept {
			frames = append(frames, Frame{s.text(f.Func), s.text(f.File), int(min(f.Line, 1<<30))})
		}
		s.list = append(s.list, frames)
		s.byPC[string(s.key)] = id
		s.bytes += int64(depth)*(16+40) + 100
	}
	s.known[stack] = id
	return id
}

// text returns one copy of equal strings, cut to maxText bytes.
func (s *stacks) text(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	if kept, ok := s.texts[text]; ok {
		return kept
	}
	text = strings.Clone(text)
	s.texts[text] = text
	s.bytes += int64(len(text)) + 64
	return text
}
