// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package httpsend makes one HTTP request of an exporter.Destination. Its Judge decides
// for every destination whether the queue sends a profile again.
package httpsend
