// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command spanprof works with profiles that have left their process.
//
//	spanprof record   keeps the profiles of running services in files
//	spanprof pgo      makes default.pgo out of them
//	spanprof diff     tells what moved between two versions, beyond noise
//	spanprof view     shows them on a page
//	spanprof trace    tells from an execution trace what spans waited for, and for whom
//
// Credentials come from the environment and stand neither in an address nor in
// a flag.
package main
