// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package ebpfbridge tells the node's eBPF profiling agent about this process.
//
// The agent samples the whole host: kernel, C code and every process. It reads
// Go's pprof labels, which spanprof sets for spans, by itself. What it cannot
// read is which service a process belongs to. [Publish] puts the process's
// Resource where agents look for it, in the process context of OTEP 4719:
//
//	context, err := ebpfbridge.Publish(res)
//	if err != nil {
//		return err // errors.Is(err, ebpfbridge.ErrUnsupported) on other systems
//	}
//	defer context.Close()
//
// The context also says that span ids are found in pprof labels: attribute
// threadlocal.schema_version has the value go_pprof_labels_v1. It needs no
// privileges, costs one mapping of 68 KiB of which few pages are used, and is
// read by the agent without any call into this process.
//
// The agent keeps the 10 labels of a goroutine that come first by key, 15 bytes of
// a key and 47 of a value. A program with many labels of its own should have a
// [LabelCheck] among its exporters, which reports once if the agent loses those of
// spans.
//
// # The other direction
//
// Package receiver takes what the agent measured and joins it with this process's
// spans. This package links no gRPC, so that publishing alone stays small.
//
// # Limits
//
// There is one process context per process. If another library, Datadog's tracer
// say, has published one, Publish returns [ErrPublished] and leaves it alone.
// Other systems than Linux have no process context.
//
// # For developers
//
// publisher.go holds the life of a context, payload.go its protobuf message,
// region_linux.go the memory that agents find by the name OTEL_CTX.
package ebpfbridge
