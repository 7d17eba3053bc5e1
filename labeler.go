// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import "context"

// labeler puts a span's labels on goroutines and takes them off again.
//
// There are two: runtimeLabeler reads and writes the labels of the running
// goroutine through runtime/pprof's own hooks, publicLabeler knows only the
// public API, which can set labels but not read them.
type labeler interface {
	// start makes the labels of s, which has labels of its own, and puts
	// them on the calling goroutine. ctx is the context that the span was
	// started with, name the value of LabelSpanName or "".
	start(ctx context.Context, s *spanState, name string)

	// inherit puts the labels of s.root on the calling goroutine for s, a
	// descendant without labels of its own, where they are missing.
	inherit(ctx context.Context, s *spanState)

	// rename gives s, which has labels of its own, another span name.
	rename(s *spanState, name string)

	// end puts back what the goroutine carried before start or inherit. It
	// reports whether the goroutine carried the labels of s.
	end(s *spanState) bool

	// abandon gives the labels of s up, whose end may not be seen, on whichever
	// goroutine carries them; settle takes labels that were given up, and of
	// spans that have ended, off the calling one.
	abandon(s *spanState)
	settle()

	// givenUp reports whether s needs no End for its labels any more, though it may
	// not have ended: its local root has, on the goroutine of both.
	givenUp(s *spanState) bool

	// name returns the span name among the labels of s, "" if there is none,
	// and profileID the value of LabelProfileID. s has labels of its own.
	name(s *spanState) string
	profileID(s *spanState) string

	// hasUserLabels reports whether the user has labels beside those of s,
	// which has labels of its own.
	hasUserLabels(s *spanState) bool

	// contextValue returns what runtime/pprof finds in the context of s.
	contextValue(s *spanState) any

	// enter puts the labels of ctx on the calling goroutine, and leave puts back what
	// was there.
	enter(ctx context.Context) entered
	leave(e entered)
}

// entered is what leave needs of enter.
type entered struct {
	found *labelMap   // what the goroutine carried, for runtimeLabeler
	heir  *labelBlock // the origin that has an heir more
	span  *spanState  // the span of the context, for publicLabeler
}
