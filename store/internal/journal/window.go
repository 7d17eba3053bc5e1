// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/spanprof/spanprof/exporter"
)

// encoded returns the file of a window, and how many bytes are in it, unzipped, or more than limit.
// It ends with the duration of the window.
func encoded(p *exporter.Profile, limit int64) (data []byte, n int64, err error) {
	data, err = p.Pprof()
	if err == nil {
		data, err = zipped(data)
	}
	if err != nil {
		return nil, 0, err
	}
	const header, trailer = 10, 8 // of gzip
	if len(data) < header+trailer {
		return nil, 0, fmt.Errorf("a gzipped %s profile is cut off after %d bytes", p.Kind(), len(data))
	}
	if n, err = lenOf(data, limit); err != nil {
		return nil, 0, fmt.Errorf("a gzipped %s profile: %w", p.Kind(), err)
	}
	// The profile may lack the duration of its window, or tell for how long it was sampled
	// instead. The last value of a field counts. The start is in the name of the file: two of
	// it would be two profiles to pprof's parser.
	const durationNanos = 10 << 3 // the key of the field in the pprof format
	duration := binary.AppendUvarint([]byte{durationNanos}, uint64(p.Duration()))
	return slices.Concat(data, stored(duration)), n + int64(len(duration)), nil
}

// lenOf returns how many bytes are in a gzip file, or more than limit. A member ends with its length,
// modulo 4 GiB: that is the answer where there is one member, which is too small for more.
func lenOf(data []byte, limit int64) (int64, error) {
	const most = 1032 // is what a byte becomes, unzipped
	if !bytes.Contains(data[1:], []byte{0x1f, 0x8b, deflate}) && int64(len(data)) < 1<<32/most {
		return int64(binary.LittleEndian.Uint32(data[len(data)-4:])), nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	return io.Copy(io.Discard, io.LimitReader(z, limit+1))
}

// deflate is the only method of gzip.
const deflate = 8

// stored returns some bytes as a member of a gzip file, which may have more than one. It
// does not compress them: the compressor takes a megabyte of memory.
func stored(b []byte) []byte {
	const unknownSystem, lastBlock = 0xff, 1
	m := []byte{0x1f, 0x8b, deflate, 0, 0, 0, 0, 0, 0, unknownSystem, lastBlock}
	m = binary.LittleEndian.AppendUint16(m, uint16(len(b)))
	m = binary.LittleEndian.AppendUint16(m, ^uint16(len(b)))
	m = append(m, b...)
	m = binary.LittleEndian.AppendUint32(m, crc32.ChecksumIEEE(b))
	return binary.LittleEndian.AppendUint32(m, uint32(len(b)))
}

// zipped returns data as it is if it is gzipped, which the name promises.
func zipped(data []byte) ([]byte, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err == nil {
		_, err = w.Write(data)
		err = errors.Join(err, w.Close())
	}
	return b.Bytes(), err
}
