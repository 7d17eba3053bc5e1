// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/pprof/profile"
)

// The numbers of fields and values of querier/v1/querier.proto.
const (
	mergeType, mergeLabels, mergeStart, mergeEnd, mergeFormat, mergeTraces, mergeSpans = 1, 2, 3, 4, 6, 10, 11

	formatPprof = 4

	answerPprof, pprofProfile = 5, 1
)

// The wire types of protobuf.
const (
	wireVarint, wireFixed64, wireBytes, wireFixed32 = 0, 1, 2, 5
)

// Merge returns the sum of what s selects, with one value a sample and without labels;
// nil if there is none.
//
// The call is in protobuf, for an answer has the form of its request: there the profile
// is pprof's own message, which JSON would make several times as long.
func (c *Client) Merge(ctx context.Context, s Selector) (*profile.Profile, error) {
	var request []byte
	text := func(field int, value string) {
		request = binary.AppendUvarint(request, uint64(field)<<3|wireBytes)
		request = binary.AppendUvarint(request, uint64(len(value)))
		request = append(request, value...)
	}
	number := func(field int, value int64) {
		request = binary.AppendUvarint(request, uint64(field)<<3|wireVarint)
		request = binary.AppendUvarint(request, uint64(value))
	}
	text(mergeType, s.Type)
	text(mergeLabels, s.Labels)
	number(mergeStart, s.From.UnixMilli())
	number(mergeEnd, s.Until.UnixMilli())
	number(mergeFormat, formatPprof)
	for _, id := range s.Traces {
		text(mergeTraces, id)
	}
	for _, id := range s.Spans {
		text(mergeSpans, id)
	}
	const method = "SelectMergeStacktraces"
	answer, err := c.call(ctx, method, asProto, request)
	if err != nil {
		return nil, err
	}
	p, err := decodeMerge(answer)
	if err != nil {
		return nil, fmt.Errorf("%s: the answer to %s: %w", c.base, method, err)
	}
	return p, nil
}

func decodeMerge(answer []byte) (*profile.Profile, error) {
	pprof, found, err := field(answer, answerPprof)
	if err != nil {
		return nil, err
	}
	if !found {
		if len(answer) == 0 {
			return nil, nil
		}
		return nil, errors.New("it is not in the pprof format: a Pyroscope server has that since version 2.2")
	}
	data, _, err := field(pprof, pprofProfile)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	p, err := profile.ParseUncompressed(data)
	if err != nil {
		return nil, err
	}
	if len(p.Sample) == 0 {
		return nil, nil
	}
	if err := p.CheckValid(); err != nil {
		return nil, err
	}
	if len(p.SampleType) != 1 {
		return nil, fmt.Errorf("its samples have %d values, want 1", len(p.SampleType))
	}
	return p, nil
}

var errDamaged = errors.New("it is no protobuf message")

// field returns the last of a message's fields of a number that has bytes.
func field(message []byte, number uint64) (value []byte, found bool, err error) {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 {
			return nil, false, errDamaged
		}
		message = message[n:]
		skip := uint64(0)
		switch key & 7 {
		case wireVarint:
			if _, n = binary.Uvarint(message); n <= 0 {
				return nil, false, errDamaged
			}
			skip = uint64(n)
		case wireFixed64:
			skip = 8
		case wireFixed32:
			skip = 4
		case wireBytes:
			if skip, n = binary.Uvarint(message); n <= 0 {
				return nil, false, errDamaged
			}
			message = message[n:]
		default:
			return nil, false, errDamaged
		}
		if skip > uint64(len(message)) {
			return nil, false, errDamaged
		}
		if key == number<<3|wireBytes {
			value, found = message[:skip], true
		}
		message = message[skip:]
	}
	return value, found, nil
}
