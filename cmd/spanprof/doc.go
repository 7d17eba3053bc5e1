// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command spanprof works with profiles that have left their process.
//
//	spanprof record   keeps the profiles of running services in files
//	spanprof pgo      merges them into default.pgo
//	spanprof diff     shows what moved between two versions, beyond noise
//	spanprof view     shows them on a page
//	spanprof trace    shows from an execution trace what spans waited for, and what ended it
//
// Credentials are read from the environment, never from an address or a flag.
package main
