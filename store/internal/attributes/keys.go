// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package attributes keeps the attributes that distinguish spans, in few bytes.
//
// keys.go lists the attributes and how their secrets are hidden. set.go encodes the
// attributes of one span.
package attributes

import (
	"slices"

	"github.com/spanprof/spanprof/internal/secrets"
)

// MaxKeys is how many keys a program may add.
const MaxKeys = 64

// Keys of errors.
const (
	ErrorType        = "error.type"
	ExceptionType    = "exception.type"
	ExceptionMessage = "exception.message"
	// The status is no attribute; this is the conventions' name for it as one.
	statusDescription = "otel.status_description"
)

// defaults are the attributes of the semantic conventions that distinguish requests: of
// v1.37, and older names that libraries still send. Attributes of the client only, such as
// addresses, user agents and enduser.id, are not among them.
var defaults = []string{
	"http.request.method", "http.method",
	"http.route", "url.template",
	"url.path", "url.query", "http.target",
	"url.full", "http.url",
	"http.response.status_code", "http.status_code",
	"db.query.text", "db.statement",
	"db.query.summary",
	"db.operation.name", "db.operation",
	"db.collection.name", "db.sql.table", "db.mongodb.collection", "db.cassandra.table",
	"db.stored_procedure.name",
	"db.response.status_code",
	"rpc.service", "rpc.method",
	"rpc.grpc.status_code", "rpc.connect_rpc.error_code",
	"messaging.destination.name", "messaging.destination",
	"messaging.operation.name", "messaging.operation",
	"graphql.operation.name", "graphql.operation.type", "graphql.document",
	"gen_ai.operation.name", "gen_ai.request.model",
	"faas.invoked_name", "faas.trigger",
	ErrorType, ExceptionType, ExceptionMessage, statusDescription,
}

// maxScan is how many bytes of a value are searched for secrets.
const maxScan = 4 * MaxValue

// RedactText returns the start of a text, such as an error, without secrets.
func RedactText(s string) string { return secrets.Text(s[:min(len(s), maxScan)]) }

// hideIn returns the function that hides secrets in the values of a key. It is nil if
// the whole value is a secret.
func hideIn(key string) func(string) string {
	switch key {
	case "url.query":
		return secrets.Query
	case "db.query.text", "db.statement", "graphql.document":
		return secrets.Statement
	}
	if secrets.Name(key) { // http.request.header.authorization
		return nil
	}
	return secrets.Text
}

// Keys are the attributes to keep, nil for none. They never change.
type Keys struct {
	names   []string
	hide    []func(string) string // of each name
	numbers map[string]uint8      // from 1 on
}

// NewKeys returns the keys of the semantic conventions and own ones, at most MaxKeys.
func NewKeys(own []string) *Keys {
	k := &Keys{numbers: make(map[string]uint8)}
	for _, name := range slices.Concat(defaults, own) {
		if k.numbers[name] == 0 {
			k.names = append(k.names, name)
			k.hide = append(k.hide, hideIn(name))
			k.numbers[name] = uint8(len(k.names))
		}
	}
	return k
}
