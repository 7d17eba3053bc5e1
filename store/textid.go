// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

// textID finds a group whose ids are texts by one of them.
type textID struct {
	id    string
	group uint32
}
