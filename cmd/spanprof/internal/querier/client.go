// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package querier is a client of a Pyroscope server's querier.v1.QuerierService, in the
// unary form of the Connect protocol.
package querier

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/client"
)

const (
	// callTime is the longest time of one call.
	callTime = 30 * time.Second
	// maxCalls is the number of concurrent calls.
	maxCalls = 8
)

// Client queries one server. It is safe for concurrent use.
type Client struct {
	client *client.Client
	// name is the address as given, without a trailing slash; base is its HTTP form.
	name, base string
	maxBytes   int64
	slots      chan struct{}
	// left is the number of calls that remain, and most that number at first; nil for any
	// number.
	left *atomic.Int64
	most int64

	report func(text string)
	away   *atomic.Bool
}

// New returns a client of the server at an address. The address begins with http:// or
// https://, or with pyroscope+ before these. The credentials are of package client.
// An unpacked answer may have maxBytes.
func New(address *url.URL, maxBytes int64) (*Client, error) {
	own, err := client.New()
	if err != nil {
		return nil, err
	}
	u := url.URL{Scheme: address.Scheme, Host: address.Host, Path: strings.TrimRight(address.Path, "/")}
	return &Client{
		client:   own,
		name:     u.String(),
		base:     strings.TrimPrefix(u.String(), "pyroscope+"),
		maxBytes: maxBytes,
		slots:    make(chan struct{}, maxCalls),
		report:   func(string) {},
		away:     new(atomic.Bool),
	}, nil
}

// Limited returns a client of the same server for at most n calls.
func (c *Client) Limited(n int64) *Client {
	own := *c
	own.left, own.most = new(atomic.Int64), n
	own.left.Store(n)
	return &own
}

// String returns the server's address as given, without credentials.
func (c *Client) String() string { return c.name }

// Close closes idle connections.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// IsUnimplemented reports whether the server does not have the called method.
func IsUnimplemented(err error) bool {
	e, ok := errors.AsType[*client.StatusError](err)
	return ok && (e.Reason == "unimplemented" || e.Reason == "" && e.Code == http.StatusNotFound)
}

const (
	asJSON  = "application/json"
	asProto = "application/proto"
)

// callJSON makes a call with messages in JSON.
func (c *Client) callJSON(ctx context.Context, method string, request, answer any) error {
	body, _ := json.Marshal(request) // texts and numbers can be encoded
	body, err := c.call(ctx, method, asJSON, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, answer); err != nil {
		// Such errors quote values.
		return fmt.Errorf("%s: the answer to %s is not one of a Pyroscope server: %s", c.name, method, c.client.Clean(err.Error()))
	}
	return nil
}

// call makes a call and returns the unpacked answer.
func (c *Client) call(ctx context.Context, method, contentType string, request []byte) ([]byte, error) {
	if c.left != nil && c.left.Add(-1) < 0 {
		return nil, fmt.Errorf("%s: this page takes more than %d calls: ask for less", c.name, c.most)
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", c.name, context.Cause(ctx))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/querier.v1.QuerierService/"+method, bytes.NewReader(request))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Connect-Protocol-Version", "1")
	header, body, err := c.client.Fetch(r, c.name+": "+method, callTime, c.maxBytes)
	if ctx.Err() == nil { // else the page was closed
		c.reportAway(err)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", c.name, context.Cause(ctx))
	case errors.Is(err, client.ErrTooLate), errors.Is(err, client.ErrTooLarge):
		return nil, fmt.Errorf("%w: ask for less time or by more labels", err)
	case err != nil:
		return nil, err
	}
	// A login page is an answer too.
	if got := header.Get("Content-Type"); !strings.HasPrefix(got, contentType) {
		return nil, fmt.Errorf("%s: %s: the answer is %q, and not one of a Pyroscope server (is a proxy in between that wants people to log in?)", c.name, method, c.client.Clean(got))
	}
	return body, nil
}

// ReportTo makes the client report the first call that the server does not answer, and the
// first answer after it. An answer of 500 and above counts as none. Call it before the
// first call.
func (c *Client) ReportTo(report func(text string)) { c.report = report }

// reportAway reports whether the server is away, by the error of a call.
func (c *Client) reportAway(err error) {
	status, answered := errors.AsType[*client.StatusError](err)
	away := err != nil && !errors.Is(err, client.ErrTooLarge) && !IsUnimplemented(err) && (!answered || status.Code >= http.StatusInternalServerError)
	switch before := c.away.Swap(away); {
	case away && !before:
		c.report(err.Error() + "; pages show errors until it answers")
	case before && !away:
		c.report(c.name + ": it answers again")
	}
}
