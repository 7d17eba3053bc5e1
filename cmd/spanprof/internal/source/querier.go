// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// querier speaks the Connect protocol with the querier.v1.QuerierService of a
// Pyroscope server.
type querier struct {
	client     *client
	base, name string
}

// series returns the sets of values that the labels of a selector's profiles
// have, at most once each.
func (q *querier) series(ctx context.Context, selector string, labels []string, from, until time.Time) ([]map[string]string, error) {
	request, err := json.Marshal(map[string]any{
		"matchers": []string{selector}, "labelNames": labels, "start": from.UnixMilli(), "end": until.UnixMilli(),
	})
	if err != nil {
		return nil, err
	}
	data, err := q.call(ctx, q.name, "Series", "application/json", request)
	if err != nil {
		return nil, err
	}
	var answer struct {
		LabelsSet []struct {
			Labels []struct{ Name, Value string }
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, q.client.decodeError(q.name, data, fmt.Errorf("the answer is not that of a Pyroscope server: %w", err))
	}
	sets := make([]map[string]string, 0, len(answer.LabelsSet))
	for _, labels := range answer.LabelsSet {
		set := map[string]string{}
		for _, l := range labels.Labels {
			set[l.Name] = l.Value
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// mergeProfile returns the sum of the profiles of a type that a selector means,
// as pprof without compression; it is empty where there are none.
//
// The request is in the binary form, for the answer is in that of the request:
// it is the message that pprof files have, which JSON would blow up to several
// times its size.
func (q *querier) mergeProfile(ctx context.Context, name, profileType, selector string, from, until time.Time) ([]byte, error) {
	var request []byte // a SelectMergeProfileRequest
	for i, text := range []string{profileType, selector} {
		request = binary.AppendUvarint(request, uint64(i+1)<<3|2)
		request = binary.AppendUvarint(request, uint64(len(text)))
		request = append(request, text...)
	}
	for i, t := range []time.Time{from, until} {
		request = binary.AppendUvarint(request, uint64(i+3)<<3)
		request = binary.AppendUvarint(request, uint64(t.UnixMilli()))
	}
	return q.call(ctx, name, "SelectMergeProfile", "application/proto", request)
}

// profiles returns how many profiles of a type a selector means, at a second's
// resolution: profiles of several replicas that come at the same time count once.
func (q *querier) profiles(ctx context.Context, name, profileType, selector string, from, until time.Time) (int, error) {
	request, err := json.Marshal(map[string]any{
		"profileTypeID": profileType, "labelSelector": selector, "start": from.UnixMilli(), "end": until.UnixMilli(), "step": 1,
	})
	if err != nil {
		return 0, err
	}
	data, err := q.call(ctx, name, "SelectSeries", "application/json", request)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Series []struct{ Points []struct{} }
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return 0, q.client.decodeError(name, data, fmt.Errorf("the answer is not that of a Pyroscope server: %w", err))
	}
	n := 0
	for _, s := range answer.Series {
		n += len(s.Points)
	}
	return n, nil
}

// call makes a call; its errors have the server's message.
func (q *querier) call(ctx context.Context, name, method, contentType string, request []byte) ([]byte, error) {
	r, err := http.NewRequest(http.MethodPost, q.base+"/querier.v1.QuerierService/"+method, bytes.NewReader(request))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, withoutAddress(err))
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Connect-Protocol-Version", "1")
	data, err := q.client.do(ctx, name, r, 0)
	if refusal, ok := errors.AsType[*StatusError](err); ok {
		var message struct{ Code, Message string }
		if json.Unmarshal([]byte(refusal.Text), &message) == nil && message.Message != "" {
			refusal.Text = message.Message
		}
	}
	return data, err
}
