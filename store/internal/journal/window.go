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
	"slices"

	"github.com/spanprof/spanprof/exporter"
)

// encoded returns the file of a window, and how many bytes are in it, unzipped. It ends with the
// duration of the window.
func encoded(p *exporter.Profile) (data []byte, n int64, err error) {
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
	// gzip ends with the length of what is in it.
	n = int64(binary.LittleEndian.Uint32(data[len(data)-4:]))
	// The profile may lack the duration of its window, or tell for how long it was sampled
	// instead. The last value of a field counts. The start is in the name of the file: two of
	// it would be two profiles to pprof's parser.
	const durationNanos = 10 << 3 // the key of the field in the pprof format
	duration := binary.AppendUvarint([]byte{durationNanos}, uint64(p.Duration()))
	return slices.Concat(data, stored(duration)), n + int64(len(duration)), nil
}

// stored returns some bytes as a member of a gzip file, which may have more than one. It
// does not compress them: the compressor takes a megabyte of memory.
func stored(b []byte) []byte {
	const deflate, unknownSystem, lastBlock = 8, 0xff, 1
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
