// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package spanlabels owns the goroutine labels of spans. It puts them on
// goroutines, takes them off, and answers which labels held at a time.
//
// # The rule
//
// The labels of a span belong to a [Block]. Its prev field is the label set
// that was on the goroutine before: of another block, or a foreign one.
//
//   - [Start] puts a block on top of the nearest open one. At depth 256 prev
//     becomes the set under all blocks. No block is needed for a child in root
//     scope on its root's goroutine, see [Inherits].
//   - [Block.End] marks the block ended. A program may forget to end spans: on its
//     own goroutine a local root also ends all its open descendants above it. The
//     first block of a root on another goroutine, a worker's job, ends those that
//     were each started in the context of the block under them. The goroutine then
//     gets what [At] returns for now. If it carries a foreign set, End replaces the
//     labels with this block's values and leaves the others.
//
// A foreign set holds until it is replaced, even if it was copied from a block.
package spanlabels
