// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package receiver takes what the node's eBPF agent measured of this process, and
// hands it on as profiles of [exporter.KindHost]: kernel, C and Go frames, each sample
// with the labels of the span that it belongs to.
//
//	r, err := receiver.New(store, receiver.LookupIn(store))
//	if err != nil {
//		return err
//	}
//	listener, err := net.Listen("tcp", "127.0.0.1:11000")
//	if err != nil {
//		return err
//	}
//	go func() { errs <- r.ServeGRPC(ctx, listener) }()
//
// and, on the same machine,
//
//	ebpf-profiler -collection-agent 127.0.0.1:11000 -disable-tls -t go,labels
//
// [Receiver.Handler] takes the same by OTLP/HTTP.
//
// In a container, [Receiver.Subscribe] takes this process's samples from the socket of
// command hostview, which runs beside the agent. [Host] is hostview without its page.
//
// # Whose samples
//
// An agent sends the whole host. The receiver knows this process's part by the ids of
// spans, which the Lookup knows: the agent may see another process id than the process
// itself. Until the first span has been sampled, nothing is this process's. What
// [Receiver.Subscribe] takes is this process's from the start: the kernel tells hostview
// which process connects.
//
// # Which span
//
// The agent sends records: a stack, labels, and the times at which it was seen. Its
// records are not told apart by labels (open-telemetry/opentelemetry-ebpf-profiler
// pull request 1790): all samples of a stack within a report have the labels of the
// first of them. So the receiver gives a sample to a span only by one of these
// witnesses, which [Status] counts:
//
//   - it is the record's first sample;
//   - the record has a Link, or the agent has sent two records on this connection
//     that differ in their labels alone, which shows that it does tell them apart;
//   - [WithTimelines] knows what ran on the thread at that time, as module exectrace does
//     by an execution trace of the process.
//
// The label span_attribution of a span's samples has the witness: first, labels, link or
// timeline. Other samples are counted as ambiguous. They stay in the profile, without the
// labels of a span, and with the label span_attribution=ambiguous.
//
// # Limits
//
// Host samples and those of the in-process CPU profiler measure the same CPU time:
// never add them. Names of C functions come from this process's own files; those of
// stripped ones stay addresses. Messages of more than 32 MiB are refused, and those
// that would take more than 128 MiB of memory.
//
// # For developers
//
// grpc.go and http.go take messages, owner.go finds this process in one and threads.go its
// threads, witness.go places the samples, hostprofile.go makes a profile of them and symbols.go names
// functions. host.go does the same for all processes, with hostsymbols.go.
package receiver
