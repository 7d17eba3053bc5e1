// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net/http"
)

// connector makes connections of database/sql that can do nothing.
type connector struct{}

func (connector) Connect(context.Context) (driver.Conn, error) { return connection{}, nil }
func (connector) Driver() driver.Driver                        { return nil }

type connection struct{}

var errNothing = errors.New("this connection can do nothing")

func (connection) Prepare(string) (driver.Stmt, error) { return nil, errNothing }
func (connection) Begin() (driver.Tx, error)           { return nil, errNothing }
func (connection) Close() error                        { return nil }

// get reads the answer of a request to its end, so that its connection can be used again.
func get(response *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
