// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package attributes keeps the attributes that distinguish spans, in few bytes.
//
// keys.go lists the attributes and how their secrets are hidden. set.go encodes the
// attributes of one span.
package attributes

import (
	"github.com/spanprof/spanprof/internal/secrets"
)

// MaxKeys is how many keys a program may add, MaxKeyLen how long each may be.
const (
	MaxKeys   = 64
	MaxKeyLen = 255
)

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
	names []string
	hide  []func(string) string // of each name
	// first and next are a hash table, with numbers from 1 on: the first number of a
	// hash, and the next number with the same hash. A Go map takes four times as long
	// for a key that it lacks.
	first [256]uint8
	next  []uint8

	exceptionType, exceptionMessage, statusDescription uint8
}

// NewKeys returns the keys of the semantic conventions and own ones. Of more than fit,
// the first are kept: options check that.
func NewKeys(own []string) *Keys {
	k := &Keys{}
	for _, name := range defaults {
		k.add(name)
	}
	for _, name := range own {
		if k.number(name) == 0 {
			k.add(name)
		}
	}
	k.exceptionType, k.exceptionMessage, k.statusDescription = k.number(ExceptionType), k.number(ExceptionMessage), k.number(statusDescription)
	return k
}

func (k *Keys) add(name string) {
	h := hash(name)
	k.names = append(k.names, name)
	k.hide = append(k.hide, hideIn(name))
	k.next = append(k.next, k.first[h])
	k.first[h] = uint8(len(k.names))
}

// number returns the number of a key, from 1 on; 0 for one that is not kept.
func (k *Keys) number(name string) uint8 {
	for n := k.first[hash(name)]; n != 0; n = k.next[n-1] {
		if k.names[n-1] == name {
			return n
		}
	}
	return 0
}

// hash differs for most keys.
func hash(name string) uint8 {
	n := len(name)
	if n == 0 {
		return 0
	}
	return uint8(n*31) + name[n-1]*7 + name[n/2]*17 + name[n/4]*3
}
