// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package httpsend makes one HTTP request of an exporter.Destination and tells
// by its outcome whether the queue should try again.
package httpsend
