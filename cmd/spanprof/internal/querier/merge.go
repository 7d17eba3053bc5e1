// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/untrusted"
	"github.com/spanprof/spanprof/internal/wire"
)

// The numbers of fields and values of querier/v1/querier.proto. Both requests have
// the first four.
const (
	mergeType, mergeLabels, mergeStart, mergeEnd, mergeFormat, mergeSpans = 1, 2, 3, 4, 6, 11

	formatPprof = 4

	answerPprof, pprofProfile = 5, 1
)

// The wire types of protobuf.
const wireVarint, wireBytes = 0, 2

// Merge returns the sum of what s selects, with one value a sample and without labels;
// nil if there is none. Servers before version 2.2 lack the call.
func (c *Client) Merge(ctx context.Context, s Selector) (*profile.Profile, error) {
	request := appendSelection(nil, s)
	request = appendNumber(request, mergeFormat, formatPprof)
	for _, id := range s.Spans {
		request = appendText(request, mergeSpans, id)
	}
	return c.merge(ctx, "SelectMergeStacktraces", request, decodeMerge)
}

// MergeProfile is Merge by a call that servers of all versions have. Spans of s do not
// count.
func (c *Client) MergeProfile(ctx context.Context, s Selector) (*profile.Profile, error) {
	return c.merge(ctx, "SelectMergeProfile", appendSelection(nil, s), decodeProfile)
}

// merge makes a call in protobuf, for an answer has the form of its request: there the
// profile is pprof's own message, which JSON would make several times as long.
func (c *Client) merge(ctx context.Context, method string, request []byte, decode func([]byte) (*profile.Profile, error)) (*profile.Profile, error) {
	answer, err := c.call(ctx, method, asProto, request)
	if err != nil {
		return nil, err
	}
	p, err := decode(answer)
	if err != nil {
		return nil, fmt.Errorf("%s: the answer to %s: %w", c.name, method, err)
	}
	return p, nil
}

// appendSelection adds the fields that the requests of both calls begin with.
func appendSelection(request []byte, s Selector) []byte {
	request = appendText(request, mergeType, s.Type)
	request = appendText(request, mergeLabels, s.Labels)
	request = appendNumber(request, mergeStart, s.From.UnixMilli())
	return appendNumber(request, mergeEnd, s.Until.UnixMilli())
}

func appendText(request []byte, field int, value string) []byte {
	request = binary.AppendUvarint(request, uint64(field)<<3|wireBytes)
	request = binary.AppendUvarint(request, uint64(len(value)))
	return append(request, value...)
}

func appendNumber(request []byte, field int, value int64) []byte {
	request = binary.AppendUvarint(request, uint64(field)<<3|wireVarint)
	return binary.AppendUvarint(request, uint64(value))
}

// decodeMerge reads the answer to SelectMergeStacktraces.
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
	if err != nil {
		return nil, err
	}
	return decodeProfile(data)
}

// decodeProfile reads a profile of one type; nil if it has no samples.
func decodeProfile(data []byte) (*profile.Profile, error) {
	if len(data) == 0 {
		return nil, nil
	}
	p, err := untrusted.Profile(data, wire.MaxProfile)
	if err != nil {
		return nil, fmt.Errorf("it is no profile in the pprof format: %w", err)
	}
	if len(p.Sample) == 0 {
		return nil, nil
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
		key, v, rest, ok := wire.Next(message)
		if !ok {
			return nil, false, errDamaged
		}
		if key == number<<3|wireBytes {
			value, found = v, true
		}
		message = rest
	}
	return value, found, nil
}
