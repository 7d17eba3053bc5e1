// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package ebpfbridge

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// contextName is the name by which agents find the memory in /proc/<pid>/maps.
const contextName = "OTEL_CTX"

// header is the first part that agents read.
type header struct {
	signature   [8]byte // contextName
	version     uint32
	payloadSize uint32
	publishedAt uint64 // nanoseconds of CLOCK_BOOTTIME; 0 while the rest changes
	payload     uint64 // its address
}

const headerVersion = 2

// words is the region by the unit in which it is written.
type words [(headerSize + MaxPayloadSize) / 8]uint64

const headerSize = int(unsafe.Sizeof(header{}))

// region is the memory of a context: a header and room for the largest payload,
// so that a growing payload needs no other memory. The kernel provides only the
// pages that are written to.
type region struct {
	mem   []byte // from mmap: not on Go's heap, and never moved
	words *words // the same memory
}

// newRegion returns memory without content.
func newRegion() (*region, error) {
	mem, err := mapMemfd(int(unsafe.Sizeof(words{})))
	if err != nil {
		return nil, err
	}
	// A child process is not the process that the context describes.
	if err := unix.Madvise(mem, unix.MADV_DONTFORK); err != nil {
		_ = unix.Munmap(mem)
		return nil, fmt.Errorf("madvise(MADV_DONTFORK): %w", err)
	}
	return &region{mem: mem, words: (*words)(unsafe.Pointer(unsafe.SliceData(mem)))}, nil
}

// mapMemfd maps a file that exists in memory only and has the context's name.
func mapMemfd(size int) ([]byte, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(contextName, flags|unix.MFD_NOEXEC_SEAL)
	if err != nil { // before Linux 6.3 the last flag is unknown
		fd, err = unix.MemfdCreate(contextName, flags)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: memfd_create: %w", ErrUnsupported, err)
	}
	defer func() { _ = unix.Close(fd) }() // the mapping stays
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, fmt.Errorf("ftruncate: %w", err)
	}
	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	return mem, nil
}

// publish replaces the content and notifies agents.
func (r *region) publish(payload []byte) {
	r.write(payload)
	// Agents that watch prctl read the memory at once. Older kernels refuse a name for a memfd,
	// which has it already.
	name := contextName + "\x00"
	_ = unix.Prctl(unix.PR_SET_VMA, unix.PR_SET_VMA_ANON_NAME, uintptr(unsafe.Pointer(unsafe.SliceData(r.mem))),
		uintptr(len(r.mem)), uintptr(unsafe.Pointer(unsafe.StringData(name))))
}

// write stores every word atomically: agents read at any moment, on other
// processors, and must see the stores in this order.
func (r *region) write(payload []byte) {
	const publishedAt = unsafe.Offsetof(header{}.publishedAt) / 8
	last := atomic.SwapUint64(&r.words[publishedAt], 0)

	h := header{version: headerVersion, payloadSize: uint32(len(payload))}
	copy(h.signature[:], contextName)
	h.payload = uint64(uintptr(unsafe.Pointer(&r.words[headerSize/8])))
	for i, w := range (*[headerSize / 8]uint64)(unsafe.Pointer(&h)) {
		atomic.StoreUint64(&r.words[i], w)
	}
	for i := headerSize / 8; len(payload) > 0; i++ {
		var word [8]byte
		payload = payload[copy(word[:], payload):]
		atomic.StoreUint64(&r.words[i], binary.NativeEndian.Uint64(word[:]))
	}

	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // known since Linux 2.6.39
	atomic.StoreUint64(&r.words[publishedAt], max(uint64(now.Nano()), last+1))
}

// close withdraws the content and frees the memory.
func (r *region) close() error {
	atomic.StoreUint64(&r.words[unsafe.Offsetof(header{}.publishedAt)/8], 0)
	if err := unix.Munmap(r.mem); err != nil {
		return fmt.Errorf("munmap: %w", err)
	}
	return nil
}

// foreignContext returns the name of a context in the process's memory. It is "" if
// there is none or the process cannot see its memory.
func foreignContext() string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(maps)) {
		// address perms offset dev inode name
		fields := strings.Fields(line)
		if len(fields) < 6 {
			continue
		}
		switch fields[5] {
		case "/memfd:" + contextName, "[anon_shmem:" + contextName + "]", "[anon:" + contextName + "]":
			return fields[5]
		}
	}
	return ""
}
