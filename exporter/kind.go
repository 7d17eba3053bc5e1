// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

// Kind says what the samples of a Profile measure.
type Kind string

// The kinds that the profiler makes. Exporters pass kinds that they do not
// know on, under the name they have.
const (
	// KindCPU is on-CPU time; samples carry goroutine labels.
	KindCPU Kind = "cpu"
	// KindHeap is heap memory: alloc_objects and alloc_space are what the
	// window allocated, inuse_objects and inuse_space what is live at its
	// end. The runtime puts no labels on it (golang/go#23458).
	KindHeap Kind = "heap"
	// KindWall is the time that goroutines spent, on CPU or waiting;
	// samples carry goroutine labels.
	KindWall Kind = "wall"
	// KindGoroutine is how many goroutines have the same stack and labels
	// at one moment: a snapshot, with Duration 0.
	KindGoroutine Kind = "goroutine"
	// KindMutex is what the window waited for mutexes that were held: how
	// often (contentions) and how long (delay), at the stacks of those who
	// held them. The runtime puts no labels on it.
	KindMutex Kind = "mutex"
	// KindBlock is what the window waited for channels, mutexes and the
	// like: how often (contentions) and how long (delay), at the stacks
	// that waited. The runtime puts no labels on it.
	KindBlock Kind = "block"
	// KindHost is on-CPU time as an eBPF agent of the host sees it: the kernel
	// and C code too. It measures the same time as KindCPU; never add them.
	KindHost Kind = "host"
)

// KernelMapping is the file of the mapping that kernel frames have in profiles of
// KindHost.
const KernelMapping = "[kernel]"
