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

// The header, which agents read first: the context's name in 8 bytes, then fields at these
// offsets. The payload follows it.
const (
	versionAt     = 8  // 4 bytes
	sizeAt        = 12 // of the payload, 4 bytes
	publishedAt   = 16 // nanoseconds of CLOCK_BOOTTIME; 0 means that there is nothing to read
	payloadAt     = 24 // its address
	headerSize    = 32
	headerVersion = 2
)

// region is the memory of a context, from mmap: not on Go's heap, and never moved.
type region []byte

// newRegion returns memory with a payload, which agents can find.
func newRegion(payload []byte) (region, error) {
	mem, err := mapMemfd(headerSize + len(payload))
	if err != nil {
		return nil, err
	}
	r := region(mem)
	// A child process is not the process that the context describes.
	if err := unix.Madvise(r, unix.MADV_DONTFORK); err != nil {
		_ = unix.Munmap(r)
		return nil, fmt.Errorf("madvise(MADV_DONTFORK): %w", err)
	}
	copy(r, contextName)
	binary.NativeEndian.PutUint32(r[versionAt:], headerVersion)
	binary.NativeEndian.PutUint32(r[sizeAt:], uint32(len(payload)))
	binary.NativeEndian.PutUint64(r[payloadAt:], uint64(uintptr(unsafe.Pointer(&r[headerSize]))))
	copy(r[headerSize:], payload)
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // known since Linux 2.6.39
	r.setTime(uint64(now.Nano()))
	// Agents that watch prctl read the memory at once. Older kernels refuse a name for a memfd,
	// which has it already.
	name := contextName + "\x00"
	_ = unix.Prctl(unix.PR_SET_VMA, unix.PR_SET_VMA_ANON_NAME, uintptr(unsafe.Pointer(unsafe.SliceData(r))),
		uintptr(len(r)), uintptr(unsafe.Pointer(unsafe.StringData(name))))
	return r, nil
}

// setTime publishes all that was written before, or withdraws it by 0: agents read at any
// moment, on other processors.
func (r region) setTime(t uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&r[publishedAt])), t)
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

// close withdraws the content and frees the memory.
func (r region) close() error {
	r.setTime(0)
	if err := unix.Munmap(r); err != nil {
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
