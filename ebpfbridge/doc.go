// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package ebpfbridge describes this process to the node's eBPF profiling agent.
//
// The agent samples the whole host: kernel, C code and every process. It reads
// Go's pprof labels, which spanprof sets for spans, by itself. It cannot read
// which service a process belongs to. [Publish] puts the process's Resource into
// the process context of OTEP 4719, where agents find it:
//
//	context, err := ebpfbridge.Publish(res)
//	if err != nil {
//		return err // errors.Is(err, ebpfbridge.ErrUnsupported) on other systems
//	}
//	defer context.Close()
//
// The context also declares that span ids are in pprof labels. It needs no privileges
// and costs one mapping of a few KiB. The agent reads it without any call into this process.
//
// The agent keeps the first 10 labels of a goroutine by key. It cuts keys to 15
// bytes and values to 47. So have fewer than 10 labels before "profile_id" in the alphabet.
//
// There is one process context per process. If another library, such as Datadog's
// tracer, has published one, Publish returns [ErrPublished] and leaves it alone.
//
// Package receiver joins the agent's samples with this process's spans.
package ebpfbridge
