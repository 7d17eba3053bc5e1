// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package attributes keeps the telling attributes of spans in few bytes.
//
// keys.go knows which attributes are kept, redact.go what is secret in URLs, and
// set.go has the form in which those of one span are kept.
package attributes

import "slices"

// MaxKeys is how many keys a program may add, MaxKeyLen how long each may be.
const (
	MaxKeys   = 64
	MaxKeyLen = 255
)

// Keys that say what went wrong.
const (
	ErrorType        = "error.type"
	ExceptionType    = "exception.type"
	ExceptionMessage = "exception.message"
	// The status is no attribute; this is the conventions' name for it as one.
	statusDescription = "otel.status_description"
)

// defaults are the attributes of the semantic conventions that tell one request from
// another: those of v1.37, and the names before that libraries in the field still send.
// What tells only where a request came from, such as addresses and user agents, is not
// among them.
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

// form says where secrets may be in a value.
type form uint8

const (
	// plain values have none, urls are URLs or parts of them, texts may name URLs.
	plain form = iota
	urls
	texts
)

var forms = map[string]form{
	"url.full": urls, "http.url": urls, "url.query": urls, "http.target": urls,
	ExceptionMessage: texts, statusDescription: texts,
}

// Keys are the attributes to keep. They never change.
type Keys struct {
	names []string
	forms []form
	// first and next are a hash table: the first number of a hash, and for each
	// number the next one with the same hash, both from 1 on. A map of Go takes
	// four times as long to say that it has no such key.
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
	k.forms = append(k.forms, forms[name])
	k.next = append(k.next, k.first[h])
	k.first[h] = uint8(len(k.names))
}

// Names returns the keys, in no order that matters.
func (k *Keys) Names() []string { return slices.Clone(k.names) }

// number returns the number of a key, from 1 on; 0 for one that is not kept.
func (k *Keys) number(name string) uint8 {
	for n := k.first[hash(name)]; n != 0; n = k.next[n-1] {
		if k.names[n-1] == name {
			return n
		}
	}
	return 0
}

// hash tells most keys apart.
func hash(name string) uint8 {
	n := len(name)
	if n == 0 {
		return 0
	}
	return uint8(n*31) + name[n-1]*7 + name[n/2]*17 + name[n/4]*3
}
