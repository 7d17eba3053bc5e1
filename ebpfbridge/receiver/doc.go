// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package receiver takes the samples of the node's eBPF agent of this process, and
// exports them as profiles of [exporter.KindHost]: kernel, C and Go frames, each sample
// with the labels of its span.
//
//	r, err := receiver.New(s, s.Lookup) // s is the store
//	if err != nil {
//		return err
//	}
//	listener, err := receiver.Listen("/run/shop/otlp.sock")
//	if err != nil {
//		return err
//	}
//	go func() { errs <- r.ServeGRPC(ctx, listener) }()
//
// and, on the same machine,
//
//	ebpf-profiler -collection-agent unix:///run/shop/otlp.sock -disable-tls -t go,labels
//
// This is for a machine with one program. With several, or with containers, command
// hostview takes the agent's messages, and [Receiver.Subscribe] this process's samples from it.
// [Host] is hostview without its page.
//
// A sender can forge samples on any span. [Listen] accepts agents of root and of the own user
// only. An agent sends the whole host, with the host's process ids. A process in another pid
// namespace needs [Receiver.Subscribe].
//
// # Which span
//
// The agent sends records: a stack, labels, and the times at which it was seen. It does
// not separate records by labels (open-telemetry/opentelemetry-ebpf-profiler pull request
// 1790): all samples of a stack within a report have the labels of the first of them. So
// the receiver gives a sample to a span only by one of these witnesses, which [Status]
// counts:
//
//   - it is the record's first sample;
//   - the record has a Link, or the agent has sent two records on this connection
//     that differ in their labels alone, which shows that it does separate them;
//   - [WithTimelines] has the span on the thread at that time, as module exectrace does
//     by an execution trace of the process.
//
// The label span_attribution of a span's samples has the witness: first, labels, link or
// timeline. Other samples are counted as ambiguous. They stay in the profile, without the
// labels of a span, and with the label span_attribution=ambiguous. A program without any label
// so far has no spans: its samples are not ambiguous.
//
// If the agent measures waiting, the receiver exports this as [exporter.KindOffCPU].
//
// # Limits
//
// Host samples and the in-process CPU profiler measure the same CPU time: never add them.
// A message has at most 2 MiB compressed, 32 MiB inflated, 80 MiB decoded and 128 MiB as pprof.
package receiver
